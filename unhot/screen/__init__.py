"""What people see while something runs: terminals, progress bars, notebooks."""

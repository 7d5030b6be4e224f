"""Training: schedule, memory plan, threads, progress, checkpoints."""

"""Run the command line as `python -m unhot`."""

from unhot.cli.main import main

main()

"""`python -m unhot`."""

from unhot.cli.main import main

main()

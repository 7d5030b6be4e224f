"""Run the command line: `python -m unhot`, and the script `unhot`."""

import signal


def main() -> None:
    """Import the command line, and run it; until it is there, Ctrl-C ends the process without a word."""
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from unhot.cli import main as command_line

    if handled:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line.main()


if __name__ == "__main__":
    main()

"""The command line. Only click is imported until a command runs, so that `--help` answers at once."""

from interlock.cli.commands import cli

__all__ = ["cli", "main"]


def main() -> None:
    """Run the command that stands in `sys.argv`, and leave the process with its exit status."""
    cli.main()

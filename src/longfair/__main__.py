"""Make ``python -m longfair`` the same as the command ``longfair``."""

from longfair.cli import main

if __name__ == "__main__":
    main()

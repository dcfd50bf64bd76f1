//! What named directives expand to, and every message of the checks.

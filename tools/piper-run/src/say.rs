//! Lines for people, on standard output.

/// As `println!`; a reader that had enough and closed the pipe (`| head`) is no failure of the run.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

pub(crate) use say;

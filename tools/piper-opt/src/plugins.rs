//! Which plugins the command line names. They are loaded before the rest of it is read, because their passes are flags.

/// The flag, and its names in `mlir-opt`.
const FLAGS: [&str; 3] = ["load-plugin", "load-pass-plugin", "load-dialect-plugin"];

/// The libraries that the arguments name, in order.
pub(crate) fn requested(args: &[String]) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), args.iter());
    while let Some(arg) = rest.next() {
        if arg == "--" {
            break;
        }
        let Some(flag) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else { continue };
        match flag.split_once('=') {
            Some((flag, path)) if FLAGS.contains(&flag) => found.push(path.to_owned()),
            None if FLAGS.contains(&flag) => found.extend(rest.next().cloned()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::requested;

    #[test]
    fn plugins_are_found_as_clap_finds_them() {
        let given = |args: &[&str]| {
            requested(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
        };
        let all = given(&[
            "--load-plugin=a.so",
            "f.pir",
            "--load-pass-plugin",
            "b.so",
            "-load-dialect-plugin=c=d.so",
            "--load-plugins=x.so",
            "--",
            "--load-plugin=y.so",
        ]);
        assert_eq!(all, ["a.so", "b.so", "c=d.so"]);
        assert!(given(&["--load-plugin"]).is_empty());
    }
}

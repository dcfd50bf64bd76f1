//! Which plugins the command line names. They are loaded before the rest of it is read, because their passes are flags.

use piper_ir::pass::Origin;

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

/// The plugin, of those from these paths, that the report of a panic names as whose it is. What the panic itself says, and
/// may say of anybody, comes after that.
pub(crate) fn blamed<'p>(report: &str, paths: impl Iterator<Item = &'p str>) -> Option<Origin> {
    let place = report.split("panicked at ").next().filter(|place| place.len() < report.len())?;
    let mut plugins = paths.map(|path| Origin::Plugin(path.into()));
    plugins.find(|plugin| place.ends_with(&format!(" of {plugin}: ")))
}

#[cfg(test)]
mod tests {
    use piper_ir::pass::Origin;

    use super::{blamed, requested};

    #[test]
    fn whose_a_panic_is_stands_before_what_it_says() {
        let paths = ["a.so", "b.so"];
        let of = |report| blamed(report, paths.into_iter());
        let hook = "in pass 'cse': in the folder of 'x.y' of plugin 'b.so': panicked at src/lib.rs:1:1:\nno";
        assert_eq!(of(hook), Some(Origin::Plugin("b.so".into())));
        assert_eq!(of("in pass 'cse': panicked at x.rs:1:1:\nno pass of plugin 'b.so': so"), None);
        assert_eq!(of("in pass 'cse': no pass of plugin 'b.so': so"), None);
    }

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

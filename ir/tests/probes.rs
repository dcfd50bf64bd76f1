//! `mlir-opt`'s verdicts on small inputs, compared with ours: what it accepts must mean what it prints, what it
//! rejects must be rejected, on the same line. `mlir-probes.txt` holds inputs and verdicts; the list below says which are not met, and why.

use std::sync::Arc;

use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Reporter, SourceFile};

struct Probe {
    input: String,
    /// What `mlir-opt` prints, or nothing if it reports an error.
    printed: Option<String>,
    /// The line of its error.
    error: String,
}

/// The probes of the file: `IN :` with continuation lines, then `OK :` or `ERR:`.
fn probes() -> Vec<Probe> {
    let text = include_str!("mlir-probes.txt");
    let mut probes: Vec<Probe> = Vec::new();
    let mut in_input = false;
    for line in text.lines().skip(2) {
        let (head, rest) = line.split_at_checked(5).unwrap_or(("", ""));
        match head {
            "IN : " => {
                probes.push(Probe { input: rest.to_owned(), printed: None, error: String::new() });
                in_input = true;
                continue;
            }
            "OK : " => {
                probes.last_mut().expect("an input").printed = Some(rest.to_owned());
                in_input = false;
                continue;
            }
            "ERR: " => {
                probes.last_mut().expect("an input").error = rest.to_owned();
                in_input = false;
                continue;
            }
            _ => {}
        }
        let Some(probe) = probes.last_mut() else { continue };
        let target = if in_input { Some(&mut probe.input) } else { probe.printed.as_mut() };
        if let Some(target) = target {
            target.push('\n');
            target.push_str(rest);
        }
    }
    probes
}

/// What Piper prints in the generic form, or its first error as `line: message`.
fn ours(input: &str) -> Result<String, String> {
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    let ctx = Arc::new(ctx);
    let source = SourceFile::new("<stdin>", input);
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &source, &mut reporter);
    let module = module.filter(|module| verify(module, &mut reporter));
    match module {
        Some(mut module) => {
            module.forget_value_names();
            Ok(print_module(&module, PrintOptions { generic: true, ..Default::default() }))
        }
        None => {
            let first = reporter.diagnostics().first().expect("a failure says why");
            let line = first.loc.file_position(&ctx).map_or(0, |(_, line, _)| line);
            Err(format!("{line}: {}", first.message))
        }
    }
}

/// Probes whose verdict differs, by a part of their input, with the reason.
const DIFFERENT: &[(&str, &str)] = &[
    ("@\"\", b = @a", "the empty symbol is printed as it is read"),
    ("array<index: 1>", "mlir-opt 19.1.7 prints this wrongly; refused"),
    ("tensor.matmul", "there is no dialect 'tensor' here"),
    ("func.func @f", "there is no dialect 'func' here"),
    ("\"func.func\"() ({", "there is no dialect 'func' here: its properties stay attributes"),
    ("loc(\"f\":1:2 to 3:4)", "mlir-opt 22 reads it"),
];

#[test]
fn verdicts_agree_with_mlir_opt() {
    let probes = probes();
    let (mut agree, mut faults) = (0, Vec::new());
    for probe in &probes {
        let ours = ours(&probe.input);
        let same = match (&ours, &probe.printed) {
            // Spelling differs (`1` and `1 : i64`, value names): what counts is that both texts read alike.
            (Ok(text), Some(expected)) => self::ours(expected).is_ok_and(|other| &other == text),
            (Err(message), None) => {
                let line = probe.error.split(':').nth(1).unwrap_or("");
                message.split(':').next() == Some(line)
            }
            _ => false,
        };
        let excused = DIFFERENT.iter().find(|(part, _)| probe.input.contains(part));
        match (same, excused) {
            (true, None) => agree += 1,
            (false, Some((_, why))) => {
                println!("differs: {why}\n  {}", probe.input.replace('\n', "\n  "))
            }
            (true, Some((part, _))) => {
                faults.push(format!("now agrees, strike '{part}' from the list"))
            }
            (false, None) => faults.push(format!(
                "IN : {}\nours: {}\nMLIR: {}{}",
                probe.input,
                ours.unwrap_or_else(|e| format!("error {e}")),
                probe.printed.clone().unwrap_or_default(),
                probe.error
            )),
        }
    }
    println!("{agree} of {} probes agree", probes.len());
    assert!(faults.is_empty(), "{} faults\n\n{}", faults.len(), faults.join("\n\n"));
}

//! The header and the table of functions are made from the sources: this says when they are stale, and writes them with
//! `PIPER_BLESS=1` (`cargo xtask header`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use quote::ToTokens;
use sources::{exported, folder, read};
use syn::{FnArg, ItemFn, ReturnType};

mod sources;

/// Functions of the table that were released: their order is fixed for ever. A release sets it to how many there are, and to the
/// sum of their names.
const RELEASED: (usize, u64) = (0, 0xcbf2_9ce4_8422_2325);

fn blesses() -> bool {
    std::env::var_os("PIPER_BLESS").is_some()
}

/// Compares a generated text with the file, or writes the file.
fn hold(path: &Path, text: &str, is_same: impl Fn(&str, &str) -> bool) {
    if blesses() {
        std::fs::write(path, text).expect("a writable file");
    }
    assert!(
        is_same(&read(path), text),
        "{} is stale; `cargo xtask header` writes it",
        path.display()
    );
}

fn doc(function: &ItemFn) -> String {
    let lines = function.attrs.iter().filter_map(|attr| match &attr.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => {
            Some(pair.value.to_token_stream().to_string())
        }
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

fn order_file() -> PathBuf {
    folder().join("include/api-order.txt")
}

/// The functions of the table, in order: those of the file, then new ones by name.
fn order(functions: &BTreeMap<String, ItemFn>) -> Vec<String> {
    let text = read(&order_file());
    let mut names: Vec<String> =
        text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(str::to_owned).collect();
    for name in &names {
        assert!(functions.contains_key(name), "{name} of api-order.txt is gone: plugins use it");
    }
    names.extend(functions.keys().filter(|name| !text.lines().any(|l| l == *name)).cloned());
    names
}

fn field(name: &str) -> &str {
    name.strip_prefix("piper_").expect("every function begins so")
}

fn table(functions: &BTreeMap<String, ItemFn>, order: &[String]) -> String {
    let mut text = String::from(
        "//! The table of functions that plugins are given. Written by `cargo xtask header` from the exported functions, in the order\n\
         //! of `include/api-order.txt`; do not edit.\n\nuse crate::*;\n\n\
         /// The functions that a plugin is given, without `piper_`. Later versions have more at the end, and no others.\n\
         #[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct PiperApi {\n\
         /// `sizeof(PiperApi)` of the host.\npub size: usize,\n",
    );
    for name in order {
        let signature = &functions[name].sig;
        let arguments = signature.inputs.iter().map(|input| match input {
            FnArg::Typed(argument) => argument.to_token_stream().to_string(),
            other => panic!("{name} takes {}", other.to_token_stream()),
        });
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let result = match &signature.output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, ty) => format!(" -> {}", ty.to_token_stream()),
        };
        let field = field(name);
        writeln!(text, "/// `{name}`\npub {field}: unsafe extern \"C\" fn({arguments}){result},")
            .expect("a string");
    }
    text.push_str(
        "}\n\npub(crate) static API: PiperApi = PiperApi {\nsize: size_of::<PiperApi>(),\n",
    );
    for name in order {
        writeln!(text, "{}: {name},", field(name)).expect("a string");
    }
    text.push_str("};\n");
    formatted(&text)
}

/// As rustfmt writes it, if there is one; the comparison does not depend on it.
fn formatted(text: &str) -> String {
    let root = folder().join("../..");
    let started = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut rustfmt) = started else { return text.to_owned() };
    let mut input = rustfmt.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, text.as_bytes()).expect("rustfmt reads");
    drop(input);
    let output = rustfmt.wait_with_output().expect("rustfmt ends");
    match output.status.success() {
        true => String::from_utf8(output.stdout).expect("rustfmt writes UTF-8"),
        false => text.to_owned(),
    }
}

fn header(order: &[String]) -> String {
    let mut config = cbindgen::Config::from_file(folder().join("cbindgen.toml")).expect("a config");
    config.sys_includes =
        ["stdbool.h", "stddef.h", "stdint.h", "string.h"].map(String::from).into();
    config.no_includes = true;
    let bindings = cbindgen::Builder::new()
        .with_crate(folder())
        .with_config(config)
        .generate()
        .expect("cbindgen understands the sources");
    let mut bytes = Vec::new();
    bindings.write(&mut bytes);
    let text = String::from_utf8(bytes).expect("UTF-8");
    let mut tail = read(&folder().join("include/tail.h"));
    for name in order {
        writeln!(tail, "#define {name} (piper_api->{})", field(name)).expect("a string");
    }
    tail.push_str("\n#endif  /* PIPER_PLUGIN */\n");
    let end = "#endif  /* PIPER_H */";
    assert!(text.contains(end), "cbindgen ends the header with its guard");
    text.replace(end, &format!("{}\n{end}", tail.trim_start()))
}

fn tokens(text: &str) -> Option<String> {
    Some(
        syn::parse_file(text)
            .ok()?
            .to_token_stream()
            .to_string()
            .replace(", )", ")")
            .replace(", }", "}"),
    )
}

#[test]
fn the_table_and_the_header_are_those_of_the_sources() {
    let functions = exported(&folder().join("src"));
    let order = order(&functions);
    let released = order.iter().take(RELEASED.0).flat_map(|name| name.bytes().chain([b'\n']));
    let sum = released.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    assert_eq!(sum, RELEASED.1, "the order of released functions changed: plugins count on it");
    let lines = format!(
        "# The functions of PiperApi, in order. Only ever add at the end: plugins find them by position.\n{}\n",
        order.join("\n")
    );
    hold(&order_file(), &lines, |a, b| a == b);
    let table = table(&functions, &order);
    hold(&folder().join("src/api.rs"), &table, |a, b| {
        tokens(a).is_some() && tokens(a) == tokens(b)
    });
    hold(&folder().join("include/piper.h"), &header(&order), |a, b| a == b);
}

#[test]
fn every_function_says_which_threads_may_call_it() {
    let src = folder().join("src");
    let mut functions = exported(&src);
    functions.extend(exported(&src.join("embed")));
    assert!(functions.len() > 100, "only {} functions were found", functions.len());
    for (name, function) in &functions {
        assert!(
            doc(function).contains("Threads:"),
            "{name} does not say which threads may call it"
        );
        assert!(name.starts_with("piper_"), "{name}");
    }
}

//! The commands tests may use without a process: what the `RUN:` lines of golden tests need, no more.

use std::fs;
use std::path::Path;

use super::diff;
use crate::Output;
use crate::filecheck::translate_regex;

/// Runs the builtin called `name`; `None` when there is none.
pub(crate) fn run(name: &str, args: &[String], stdin: &[u8], cwd: &Path) -> Option<Output> {
    let result = match name {
        "cat" => cat(args, stdin, cwd),
        "echo" => Ok(echo(args)),
        "grep" => grep(args, stdin, cwd),
        "rm" => rm(args, cwd),
        "mkdir" => mkdir(args, cwd),
        "ls" => ls(args, cwd),
        "test" => test(args, cwd),
        "cp" | "mv" => copy(name, args, cwd),
        "touch" => touch(args, cwd),
        "diff" | "cmp" => diff::command(args, stdin, cwd),
        "count" => count(args, stdin),
        "split-file" => split_file(args, cwd),
        "true" | ":" => Ok(Output::default()),
        "false" => Ok(Output::failure(1, "")),
        _ => return None,
    };
    Some(result.unwrap_or_else(|message| Output::failure(2, format!("{name}: {message}\n"))))
}

type Result = std::result::Result<Output, String>;

/// Splits leading `-abc` flags from operands; `--` ends the flags.
fn flags(args: &[String], allowed: &str) -> std::result::Result<(String, Vec<String>), String> {
    let mut letters = String::new();
    let mut operands = Vec::new();
    let mut only_operands = false;
    for arg in args {
        match arg.strip_prefix('-') {
            Some("-") if !only_operands => only_operands = true,
            Some(list) if !only_operands && !list.is_empty() => {
                if let Some(unknown) = list.chars().find(|c| !allowed.contains(*c)) {
                    return Err(format!(
                        "option '-{unknown}' is not supported by the in-process builtin"
                    ));
                }
                letters.push_str(list);
            }
            _ => operands.push(arg.clone()),
        }
    }
    Ok((letters, operands))
}

/// Reads a file named on a command line, `-` being standard input.
pub(super) fn read(name: &str, stdin: &[u8], cwd: &Path) -> std::result::Result<Vec<u8>, String> {
    if name == "-" {
        Ok(stdin.to_vec())
    } else {
        fs::read(cwd.join(name)).map_err(|e| format!("{name}: {e}"))
    }
}

fn cat(args: &[String], stdin: &[u8], cwd: &Path) -> Result {
    let (_, files) = flags(args, "u")?;
    if files.is_empty() {
        return Ok(Output::success(stdin));
    }
    let mut out = Vec::new();
    for file in &files {
        out.extend(read(file, stdin, cwd)?);
    }
    Ok(Output::success(out))
}

fn echo(args: &[String]) -> Output {
    let (newline, escapes, words) = match args {
        [flag, rest @ ..] if flag == "-n" => (false, false, rest),
        [flag, rest @ ..] if flag == "-e" => (true, true, rest),
        [flag, rest @ ..] if flag == "-ne" || flag == "-en" => (false, true, rest),
        rest => (true, false, rest),
    };
    let mut text = words.join(" ");
    if escapes {
        text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\");
    }
    if newline {
        text.push('\n');
    }
    Output::success(text)
}

fn grep(args: &[String], stdin: &[u8], cwd: &Path) -> Result {
    let mut args = args.to_vec();
    let explicit =
        args.iter().position(|a| a == "-e").map(|i| args.drain(i..(i + 2).min(args.len())).nth(1));
    let (letters, mut operands) = flags(&args, "cvqiEFnowxhs")?;
    let has = |c| letters.contains(c);
    let source = match explicit {
        Some(pattern) => pattern.ok_or("option '-e' needs a pattern")?,
        None if operands.is_empty() => return Err("no pattern given".into()),
        None => operands.remove(0),
    };
    let mut pattern = if has('F') {
        regex::escape(&source)
    } else if has('E') {
        translate_regex(&source)?
    } else {
        translate_regex(&basic_to_extended(&source))?
    };
    if has('w') {
        pattern = format!(r"\b(?:{pattern})\b");
    }
    if has('x') {
        pattern = format!("^(?:{pattern})$");
    }
    let regex = regex::RegexBuilder::new(&pattern)
        .case_insensitive(has('i'))
        .build()
        .map_err(|e| e.to_string())?;
    if operands.is_empty() {
        operands.push("-".into());
    }
    let (mut out, mut hits) = (String::new(), 0usize);
    for file in &operands {
        let bytes = read(file, stdin, cwd)?;
        let label =
            if operands.len() > 1 && !has('h') { format!("{file}:") } else { String::new() };
        for (index, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            if regex.is_match(line) == has('v') {
                continue;
            }
            hits += 1;
            let number = if has('n') { format!("{}:", index + 1) } else { String::new() };
            if has('o') {
                for found in regex.find_iter(line) {
                    out.push_str(&format!("{label}{number}{}\n", found.as_str()));
                }
            } else {
                out.push_str(&format!("{label}{number}{line}\n"));
            }
        }
    }
    if has('c') {
        out = format!("{hits}\n");
    }
    if has('q') {
        out.clear();
    }
    Ok(Output { stdout: out.into_bytes(), stderr: Vec::new(), code: i32::from(hits == 0) })
}

/// In a basic expression `+?|(){}` are literal and their escaped forms are operators.
fn basic_to_extended(source: &str) -> String {
    let mut out = String::new();
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next) if "+?|(){}".contains(next) => out.push(next),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            '+' | '?' | '|' | '(' | ')' | '{' | '}' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

fn rm(args: &[String], cwd: &Path) -> Result {
    let (letters, files) = flags(args, "rRf")?;
    for file in &files {
        let path = cwd.join(file);
        let removed = match fs::symlink_metadata(&path) {
            Err(_) if letters.contains('f') => Ok(()),
            Err(e) => Err(e),
            Ok(m) if m.is_dir() && letters.contains(['r', 'R']) => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
        };
        removed.map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(Output::default())
}

fn mkdir(args: &[String], cwd: &Path) -> Result {
    let (letters, dirs) = flags(args, "p")?;
    for dir in &dirs {
        let path = cwd.join(dir);
        let made =
            if letters.contains('p') { fs::create_dir_all(&path) } else { fs::create_dir(&path) };
        made.map_err(|e| format!("{dir}: {e}"))?;
    }
    Ok(Output::default())
}

fn ls(args: &[String], cwd: &Path) -> Result {
    let (_, mut paths) = flags(args, "1")?;
    if paths.is_empty() {
        paths.push(".".into());
    }
    let mut names = Vec::new();
    for name in &paths {
        let path = cwd.join(name);
        if !path.is_dir() {
            fs::metadata(&path).map_err(|e| format!("{name}: {e}"))?;
            names.push(name.clone());
            continue;
        }
        for entry in fs::read_dir(&path).map_err(|e| format!("{name}: {e}"))? {
            let entry = entry.map_err(|e| format!("{name}: {e}"))?;
            let entry = entry.file_name().to_string_lossy().into_owned();
            if !entry.starts_with('.') {
                names.push(entry);
            }
        }
    }
    names.sort();
    Ok(Output::success(names.iter().map(|n| format!("{n}\n")).collect::<String>()))
}

fn test(args: &[String], cwd: &Path) -> Result {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    fn claim(words: &[&str], cwd: &Path) -> std::result::Result<bool, String> {
        Ok(match words {
            ["!", rest @ ..] => !claim(rest, cwd)?,
            ["-e", path] => cwd.join(path).exists(),
            ["-f", path] => cwd.join(path).is_file(),
            ["-d", path] => cwd.join(path).is_dir(),
            ["-s", path] => fs::metadata(cwd.join(path)).is_ok_and(|m| m.len() > 0),
            ["-z", text] => text.is_empty(),
            ["-n", text] => !text.is_empty(),
            [left, "=", right] => left == right,
            [left, "!=", right] => left != right,
            [text] => !text.is_empty(),
            [] => false,
            _ => {
                return Err(format!(
                    "'{}' is not supported by the in-process builtin",
                    words.join(" ")
                ));
            }
        })
    }
    Ok(Output::failure(i32::from(!claim(&words, cwd)?), ""))
}

fn copy(name: &str, args: &[String], cwd: &Path) -> Result {
    let (letters, mut paths) = flags(args, "rRf")?;
    let target =
        paths.pop().filter(|_| !paths.is_empty()).ok_or("a source and a destination are needed")?;
    let target_path = cwd.join(&target);
    for source in &paths {
        let from = cwd.join(source);
        let to = match from.file_name() {
            Some(file) if target_path.is_dir() => target_path.join(file),
            _ => target_path.clone(),
        };
        let done = if name == "mv" {
            fs::rename(&from, &to)
        } else if from.is_dir() && letters.contains(['r', 'R']) {
            copy_tree(&from, &to)
        } else {
            fs::copy(&from, &to).map(drop)
        };
        done.map_err(|e| format!("{source} to {target}: {e}"))?;
    }
    Ok(Output::default())
}

fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_tree(&source, &target)?
        } else {
            fs::copy(&source, &target).map(drop)?
        }
    }
    Ok(())
}

fn touch(args: &[String], cwd: &Path) -> Result {
    for file in args {
        let opened = fs::OpenOptions::new().create(true).append(true).open(cwd.join(file));
        opened.map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(Output::default())
}

/// LLVM's `count N`: fails unless standard input has N lines.
fn count(args: &[String], stdin: &[u8]) -> Result {
    let wanted: usize = match args {
        [n] => n.parse().map_err(|_| format!("'{n}' is not a number"))?,
        _ => return Err("exactly one number is needed".into()),
    };
    let lines = stdin.split(|&b| b == b'\n').count()
        - usize::from(stdin.is_empty() || stdin.ends_with(b"\n"));
    if lines == wanted {
        return Ok(Output::default());
    }
    Ok(Output::failure(1, format!("Expected {wanted} lines, got {lines}.\n")))
}

/// LLVM's `split-file FILE DIR`: parts begin at lines `//--- name` or `#--- name`.
fn split_file(args: &[String], cwd: &Path) -> Result {
    let [file, dir] = args else { return Err("a file and a directory are needed".into()) };
    let text = fs::read_to_string(cwd.join(file)).map_err(|e| format!("{file}: {e}"))?;
    let dir = cwd.join(dir);
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(|e| e.to_string())?;
    }
    fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let mut parts: Vec<(&str, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_end();
        if let Some(name) =
            ["//--- ", "#--- ", ";--- "].iter().find_map(|m| trimmed.strip_prefix(m))
        {
            parts.push((name.trim(), String::new()));
        } else if let Some((_, body)) = parts.last_mut() {
            body.push_str(line);
        }
    }
    if parts.is_empty() {
        return Err(format!("{file}: no '//--- name' line"));
    }
    for (name, body) in parts {
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| e.to_string())?;
        }
        fs::write(&path, body).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(Output::default())
}

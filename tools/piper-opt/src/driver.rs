//! One run: arguments, input, passes, output.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use piper_dialects::irdl;
use piper_ir::pass::{Origin, PassRegistry};
use piper_ir::{Context, Dialect, SourceFile, Sources};
use piper_passes::pipeline_text::{PassRequest, pass_list, pass_manager_on};
use piper_plugin_host::{Extensions, LoadError, exec};

use crate::args::{Asked, Invocation};
use crate::files::OutputFile;
use crate::part::Session;
use crate::report::Style;
use crate::reproducer::Reproducer;
use crate::split::{Part, join, split};
use crate::stages::Job;
use crate::{Output, args, files, listing, plugins, reproducer};

/// What to do about a reproducer that runs what is not Piper's.
const TRUST: &str = "if you trust it, add --trust-reproducer";

/// The tool with what it knows.
pub(crate) struct Tool {
    extensions: Extensions,
    colour: bool,
}

impl Tool {
    /// A tool with these passes and dialects, and with programs as passes.
    pub(crate) fn new(mut registry: PassRegistry, dialects: Vec<Dialect>, colour: bool) -> Self {
        // Whoever has a pass of that name already wants that.
        let _ = registry.try_register(exec::pass());
        Self { extensions: Extensions::new(registry, dialects), colour }
    }

    fn registry(&self) -> &PassRegistry {
        &self.extensions.registry
    }

    pub(crate) fn run(mut self, args: &[String], stdin: &mut dyn Read, cwd: &Path) -> Output {
        // Before the flags are read: passes of plugins are flags, too.
        let style = Style::before_flags(args, self.colour);
        if let Err(error) = self.load(&plugins::requested(args), cwd, style) {
            return Output::failure(error.into_bytes());
        }
        let invocation = match args::parse(self.registry(), args) {
            Ok(invocation) => invocation,
            Err(error) => return self.command_line_error(&error),
        };
        let output = if invocation.flags.reproducers.run_reproducer {
            self.reproduce(&invocation, args, stdin, cwd)
        } else {
            self.invoke(invocation, None, stdin, cwd)
        };
        output.unwrap_or_else(|stderr| Output::failure(stderr.into_bytes()))
    }

    /// Loads plugins and checks that what all passes together say of themselves holds; an error is already rendered.
    fn load(&mut self, plugins: &[String], cwd: &Path, style: Style) -> Result<(), String> {
        let told = |error: LoadError| match &error {
            // Each with its place and its hint, after whose they are.
            LoadError::Definition { path, why } => {
                let message = format!("plugin '{path}' defines dialects that are none");
                let why = style.rendered(&why.ctx, &why.sources, &why.diagnostics);
                style.plain_error(&message) + &why
            }
            _ => style.hinted_error(&error.to_string(), error.hint()),
        };
        plugins.iter().try_for_each(|path| self.extensions.load(path, cwd)).map_err(told)?;
        self.extensions.check_required().map_err(told)?;
        args::check_names(self.registry())
            .map_err(|message| style.hinted_error(&message, Some("choose another name".into())))
    }

    /// Runs what the reproducer at the end of the input says.
    fn reproduce(
        &mut self,
        invocation: &Invocation,
        args: &[String],
        stdin: &mut dyn Read,
        cwd: &Path,
    ) -> Result<Output, String> {
        let style = Style::of(&invocation.flags.messages, self.colour);
        let plain = |message: String| style.plain_error(&message);
        let hinted = |message: String, hint: &str| style.hinted_error(&message, Some(hint.into()));
        let input = files::read(&invocation.flags.input, stdin, cwd).map_err(plain)?;
        let reproducer = Reproducer::read(&input.1).ok_or_else(|| {
            style.plain_error(
                "--run-reproducer: the input does not end with what to run ('{-# external_resources: { mlir_reproducer: ...')",
            )
        })?;
        if let Some(flag) = reproducer.alien_argument() {
            let message =
                format!("the reproducer has the flag '{flag}', which no reproducer needs");
            return Err(hinted(message, "take it out, or give it yourself"));
        }
        let is_trusted = invocation.flags.reproducers.trust_reproducer;
        let mut plugins = plugins::requested(&reproducer.arguments);
        plugins.retain(|path| !self.stands_for(path, cwd));
        if let (Some(path), false) = (plugins.first(), is_trusted) {
            return Err(hinted(format!("the reproducer loads plugin '{path}'"), TRUST));
        }
        self.load(&plugins, cwd, style)?;
        // What is wrong with the pipeline is told when it is run.
        let starts_programs = pass_manager_on(self.registry(), &reproducer.pipeline, None, None)
            .is_ok_and(|made| made.origins().iter().any(|o| matches!(o, Origin::Program(_))));
        if starts_programs && !is_trusted {
            let message = format!("the reproducer starts programs: '{}'", reproducer.pipeline);
            return Err(hinted(message, TRUST));
        }
        let again = self.reproduced(args, invocation, reproducer, cwd)?;
        self.invoke(again, Some(input), stdin, cwd)
    }

    /// Whether a loaded plugin is what a reproducer means by a path: it is that file, or has its name, where the file is not
    /// there because the reproducer was made on another machine.
    fn stands_for(&self, path: &str, cwd: &Path) -> bool {
        self.extensions.loaded.iter().any(|known| {
            let names = [&*known.file, Path::new(&known.path)];
            names.iter().any(|file| reproducer::stands_for(file, path, cwd))
        })
    }

    fn command_line_error(&self, error: &clap::Error) -> Output {
        let text = error.render();
        let text = if self.colour { text.ansi().to_string() } else { text.to_string() };
        if error.use_stderr() { Output::failure(text) } else { Output::success(text) }
    }

    fn invoke(
        &self,
        mut invocation: Invocation,
        input: Option<(String, String)>,
        stdin: &mut dyn Read,
        cwd: &Path,
    ) -> Result<Output, String> {
        let style = Style::of(&invocation.flags.messages, self.colour);
        let plain = |message: String| style.plain_error(&message);
        let mut ctx = Context::new(self.dialects(&invocation, cwd, style)?);
        // A reproducer may be run from another folder.
        let files = self.extensions.loaded.iter().map(|known| known.file.display().to_string());
        invocation.flags.passes.load_plugin = files.collect();
        for path in &mut invocation.flags.checking.load_dialect {
            if let Ok(file) = cwd.join(&*path).canonicalize() {
                *path = file.display().to_string();
            }
        }
        if invocation.flags.passes.list_passes {
            return Ok(Output::success(listing::passes(self.registry())));
        }
        if invocation.flags.passes.show_dialects {
            return Ok(Output::success(listing::dialects(ctx.dialects())));
        }
        // Before the input is read, so that a slip in a pipeline is not answered with "waiting for standard input".
        let job = self.job(&ctx, &invocation, style)?;
        let (name, text) = match input {
            Some(input) => input,
            None => files::read(&invocation.flags.input, stdin, cwd).map_err(plain)?,
        };
        let flags = &invocation.flags;
        ctx.allow_unregistered = flags.checking.allow_unregistered_dialect;
        let mut sources = Sources::default();
        let source = SourceFile::new(&*name, text);
        sources.add(source.clone());
        let parts = match &flags.checking.split_input_file {
            Some(marker) => split(&source, marker),
            None => vec![Part { source, near_misses: Vec::new() }],
        };
        let session = Session {
            ctx: Arc::new(ctx),
            registry: self.registry(),
            sources,
            name,
            job,
            invocation: &invocation,
            style,
        };
        session.check().map_err(plain)?;
        let mut output = Output::default();
        let mut texts = Vec::new();
        let mut file = match &*flags.output {
            "-" => None,
            path => Some(OutputFile::create(path, cwd).map_err(plain)?),
        };
        // The text of an only part need not be held whole, if it goes to a file.
        let streamed = parts.len() == 1 && flags.checking.verify_diagnostics.is_none();
        for part in &parts {
            let done = session.part(part, file.as_mut().filter(|_| streamed));
            let mut stderr = done.stderr;
            output.code |= i32::from(done.failed);
            texts.extend(done.text);
            for (path, text) in done.files {
                files::write_with_folders(&cwd.join(path), &text).map_err(plain)?;
            }
            if let Some((wanted, text)) = done.reproducer {
                let written = reproducer::write(wanted.as_deref(), &text, cwd);
                let culprit = done.panic.as_ref().map(|said| {
                    // A hook of a plugin's operation, which a pass of Piper's asked.
                    let paths = self.extensions.loaded.iter().map(|known| &*known.path);
                    plugins::blamed(said, paths).unwrap_or_else(|| done.culprit.clone())
                });
                stderr += &session.reproducer_message(written, culprit.as_ref());
            }
            output.stderr.extend(stderr.into_bytes());
            if done.panic.is_some() {
                output.panic = done.panic;
                break;
            }
        }
        if output.code == 0 {
            let text = join(&texts, &flags.checking.output_split_marker);
            match file {
                None => output.stdout = text,
                Some(mut file) => {
                    // The file remembers what went wrong.
                    let _ = file.write(&text);
                    file.keep().map_err(plain)?;
                }
            }
        }
        Ok(output)
    }

    /// The dialects of this tool and those of the files that the flags name; an error is already rendered.
    fn dialects(
        &self,
        invocation: &Invocation,
        cwd: &Path,
        style: Style,
    ) -> Result<Vec<Dialect>, String> {
        let mut dialects = self.extensions.dialects.clone();
        for path in &invocation.flags.checking.load_dialect {
            // Standard input is the module's.
            let path = if path == "-" { "./-" } else { path };
            let read = files::read(path, &mut std::io::empty(), cwd);
            let (name, text) = read.map_err(|message| style.plain_error(&message))?;
            let loaded = irdl::load(&text, &name, &dialects).map_err(|refusal| {
                style.rendered(&refusal.ctx, &refusal.sources, &refusal.diagnostics)
            })?;
            dialects.extend(loaded);
        }
        Ok(dialects)
    }

    /// What the arguments ask to run; an error is already rendered.
    fn job(&self, ctx: &Context, invocation: &Invocation, style: Style) -> Result<Job, String> {
        match &invocation.flags.passes.pass_pipeline {
            Some(_) if !invocation.passes.is_empty() => Err(style.plain_error(
                "--pass-pipeline says all that runs; it cannot be combined with --pass, --pass-exec or passes by name",
            )),
            Some(text) => {
                // What the root is called is known only for a module.
                let is_module = !invocation.flags.checking.no_implicit_module;
                let root = is_module.then_some("builtin.module");
                match pass_manager_on(self.registry(), text, Some(ctx), root) {
                    Ok(_) => Ok(Job::Pipeline(text.clone())),
                    Err(error) => Err(style.pipeline_error(ctx, "--pass-pipeline", text, &error)),
                }
            }
            None => {
                let mut requests = Vec::new();
                for asked in &invocation.passes {
                    match asked {
                        Asked::Passes(text) => {
                            let list = pass_list(self.registry(), text);
                            let point = |error| style.pipeline_error(ctx, "--pass", text, &error);
                            requests.extend(list.map_err(point)?);
                        }
                        Asked::Program(command) => {
                            let name = exec::NAME.to_owned();
                            let options = vec![("command".to_owned(), Some(command.clone()))];
                            let made = self.registry().build(&name, &options);
                            made.map_err(|message| style.plain_error(&message))?;
                            requests.push(PassRequest { name, options });
                        }
                    }
                }
                let implied = !invocation.flags.passes.no_implied_passes;
                Ok(Job::Passes { requests, implied })
            }
        }
    }

    /// The invocation that a reproducer asks for; flags of the command line count, too, and before its own.
    fn reproduced(
        &self,
        given: &[String],
        invocation: &Invocation,
        mut reproducer: Reproducer,
        cwd: &Path,
    ) -> Result<Invocation, String> {
        reproducer.forget_dialects(&invocation.flags.checking.load_dialect, cwd);
        let args = [&reproducer.arguments, given].concat();
        let mut invocation =
            args::parse(self.registry(), &args).map_err(|error| error.render().to_string())?;
        invocation.passes.clear();
        let flags = &mut invocation.flags;
        flags.passes.pass_pipeline = Some(reproducer.pipeline);
        flags.passes.mlir_disable_threading |= reproducer.disable_threading;
        flags.checking.verify_each = reproducer.verify_each;
        Ok(invocation)
    }
}

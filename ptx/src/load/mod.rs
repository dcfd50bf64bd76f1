//! From a parsed kernel to code: variables get addresses, calls are inlined, and every instruction is decided, so that
//! what the interpreter does not support is known before anything runs.

mod arithmetic;
mod compare;
mod convert;
mod functions;
mod instruction;
mod memory;
mod modifiers;
mod warp;

use rustc_hash::FxHashMap;

use crate::ast::{Function, Operand, Space, Statement, Type};
use crate::code::{Class, Code, LOCAL_WINDOW, Op, Source, Step};
use crate::error::{Place, SourceError};
use crate::parse::Parsed;
use crate::special::Special;

type Result<T> = std::result::Result<T, SourceError>;

/// Calls may nest so deep; there is no recursion.
const DEEPEST_CALL: usize = 64;
/// More steps than any kernel has once its calls are inlined.
const MOST_STEPS: usize = 4_000_000;

/// Loads the kernel `name` of `module`.
pub(crate) fn load(module: &Parsed, name: &str) -> Result<Code> {
    let Some(function) = module.functions.iter().find(|f| f.name == name && f.is_entry) else {
        let known: Vec<&str> =
            module.functions.iter().filter(|f| f.is_entry).map(|f| f.name.as_str()).collect();
        let message = format!("no kernel is called {name}");
        return Err(SourceError::new(Place { line: 1, column: 1 }, message)
            .hint(format!("the module has: {}", known.join(", "))));
    };
    let mut loader = Loader {
        module,
        code: Code {
            steps: Vec::new(),
            registers: Vec::new(),
            params: Vec::new(),
            param_bytes: 0,
            shared_bytes: 0,
            local_bytes: 0,
        },
        shared: FxHashMap::default(),
        has_open_shared: Vec::new(),
        stack: Vec::new(),
    };
    let mut homes = Vec::new();
    for &param in &function.params {
        let variable = &function.variables[param as usize];
        let offset = loader.code.param_bytes.next_multiple_of(u64::from(variable.align));
        loader.code.param_bytes = offset + variable.bytes;
        loader.code.params.push((variable.clone(), offset));
        homes.push((param, (Space::Param, offset)));
    }
    loader.inline(function, homes)?;
    // `extern .shared x[]` begins where the static variables end, at the strictest alignment asked for.
    let open = loader.has_open_shared.iter().map(|(_, align)| *align).max().unwrap_or(16).max(16);
    let start = loader.code.shared_bytes.next_multiple_of(u64::from(open));
    loader.code.shared_bytes = start;
    loader.patch_open_shared(start);
    Ok(loader.code)
}

struct Loader<'m> {
    module: &'m Parsed,
    code: Code,
    /// Offsets of shared variables of the module.
    shared: FxHashMap<usize, u64>,
    /// Alignments of `extern .shared` variables that are used.
    has_open_shared: Vec<(usize, u32)>,
    stack: Vec<String>,
}

/// Stands for the address of dynamic shared memory until the static size is known.
const OPEN_SHARED: u64 = 0xdead_5a5a_0000_0000;

/// One inlined function.
struct Frame<'m> {
    /// First slot of its registers.
    first: u32,
    /// Where its variables live.
    homes: FxHashMap<u32, (Space, u64)>,
    /// Steps that jump to a label, for when it is known.
    fixes: Vec<(usize, String, Place)>,
    labels: FxHashMap<&'m str, u32>,
    targets: FxHashMap<&'m str, &'m [String]>,
}

impl<'m> Loader<'m> {
    fn inline(&mut self, function: &'m Function, homes: Vec<(u32, (Space, u64))>) -> Result<()> {
        if !function.is_defined {
            let message = format!("{} is declared, but has no body", function.name);
            return Err(SourceError::new(function.place, message)
                .hint("link libdevice and the like before the module is read"));
        }
        if self.stack.contains(&function.name) || self.stack.len() >= DEEPEST_CALL {
            let message = format!("{} calls itself: calls are inlined", function.name);
            return Err(SourceError::new(function.place, message));
        }
        self.stack.push(function.name.clone());
        let first = self.code.registers.len() as u32;
        for (name, ty) in &function.registers {
            if *ty == Type::B128 {
                let message = format!("{name}: registers of 128 bits are not supported");
                return Err(SourceError::new(function.place, message));
            }
            self.code.registers.push((name.clone(), *ty));
        }
        let mut homes: FxHashMap<u32, (Space, u64)> = homes.into_iter().collect();
        for (number, variable) in function.variables.iter().enumerate() {
            if homes.contains_key(&(number as u32)) {
                continue;
            }
            let (space, size) = match variable.space {
                Space::Shared => (Space::Shared, &mut self.code.shared_bytes),
                Space::Local | Space::Param => (Space::Local, &mut self.code.local_bytes),
                _ => {
                    let message = format!("{}: declare it outside of the function", variable.name);
                    return Err(SourceError::new(function.place, message));
                }
            };
            let offset = size.next_multiple_of(u64::from(variable.align));
            *size = offset + variable.bytes;
            homes.insert(number as u32, (space, offset));
        }
        let mut frame = Frame {
            first,
            homes,
            fixes: Vec::new(),
            labels: FxHashMap::default(),
            targets: FxHashMap::default(),
        };
        for statement in &function.body {
            if let Statement::Targets(name, labels) = statement {
                frame.targets.insert(name, labels);
            }
        }
        for statement in &function.body {
            if self.code.steps.len() > MOST_STEPS {
                return Err(SourceError::new(function.place, "the inlined kernel is too long"));
            }
            match statement {
                Statement::Label(name, place) => {
                    if frame.labels.insert(name, self.code.steps.len() as u32).is_some() {
                        return Err(SourceError::new(*place, format!("{name} is defined twice")));
                    }
                }
                Statement::Targets(..) => {}
                Statement::Undefined(register, place) => {
                    let dst = first + register;
                    let src = [Source::Value(0); 3];
                    let op = Op::Compute { f: |a, _, _, d| *d = *a, dst, src };
                    self.push(op, None, Class::Move, *place);
                }
                Statement::Instruction(instruction) => self.instruction(&mut frame, instruction)?,
            }
        }
        // A body that ends without `ret` returns.
        let end = self.code.steps.len() as u32;
        if self.stack.len() == 1 {
            self.push(Op::Exit, None, Class::Control, function.place);
        } else {
            self.push(Op::Nothing, None, Class::Control, function.place);
        }
        frame.labels.insert("", end);
        for (step, label, place) in std::mem::take(&mut frame.fixes) {
            let target = |label: &str| {
                frame.labels.get(label).copied().ok_or_else(|| {
                    SourceError::new(place, format!("{label} is no label of {}", function.name))
                })
            };
            match &mut self.code.steps[step].op {
                Op::Branch(to) => *to = target(&label)?,
                Op::BranchTable { targets, .. } => {
                    let Some(labels) = frame.targets.get(label.as_str()) else {
                        let message = format!("{label} names no .branchtargets");
                        return Err(SourceError::new(place, message));
                    };
                    *targets = labels.iter().map(|l| target(l)).collect::<Result<_>>()?;
                }
                _ => {}
            }
        }
        self.stack.pop();
        Ok(())
    }

    fn push(&mut self, op: Op, guard: Option<(u32, bool)>, class: Class, place: Place) {
        self.code.steps.push(Step { op, guard, class, place });
    }

    /// The space and address that a name stands for.
    fn variable(&mut self, name: &str, place: Place) -> Result<(Space, Source)> {
        let found = self.module.variables.iter().position(|v| v.name == name);
        let Some(number) = found else {
            return Err(SourceError::new(place, format!("{name} is declared nowhere")));
        };
        let variable = &self.module.variables[number];
        if variable.space != Space::Shared {
            return Ok((variable.space, Source::Module(number as u32, 0)));
        }
        if variable.bytes == 0 {
            if !self.has_open_shared.iter().any(|(known, _)| *known == number) {
                self.has_open_shared.push((number, variable.align));
            }
            return Ok((Space::Shared, Source::Value(OPEN_SHARED)));
        }
        let size = &mut self.code.shared_bytes;
        let offset = *self.shared.entry(number).or_insert_with(|| {
            let offset = size.next_multiple_of(u64::from(variable.align));
            *size = offset + variable.bytes;
            offset
        });
        Ok((Space::Shared, Source::Value(offset)))
    }

    fn patch_open_shared(&mut self, start: u64) {
        let patch = |source: &mut Source| {
            if let Source::Value(value) = source
                && *value == OPEN_SHARED
            {
                *value = start;
            }
        };
        for step in &mut self.code.steps {
            match &mut step.op {
                Op::Compute { src, .. } => src.iter_mut().for_each(patch),
                Op::Pack { src, .. } => src.iter_mut().for_each(patch),
                Op::Load { at, .. } | Op::LoadMatrix { at, .. } => patch(&mut at.base),
                Op::Atomic { at, operand, second, .. } => {
                    [&mut at.base, operand, second].into_iter().for_each(patch);
                }
                Op::Store { at, src, .. } => {
                    patch(&mut at.base);
                    src.iter_mut().for_each(patch);
                }
                Op::AsyncCopy { to, from, .. } => {
                    patch(&mut to.base);
                    patch(&mut from.base);
                }
                _ => {}
            }
        }
    }

    /// What reading `operand` gives, as an instruction of type `ty` reads it.
    fn source(
        &mut self,
        frame: &Frame<'m>,
        operand: &Operand,
        ty: Type,
        place: Place,
    ) -> Result<Source> {
        Ok(match operand {
            Operand::Register(number) => Source::Register(frame.first + number),
            Operand::Not(inner) => match &**inner {
                Operand::Register(number) => Source::Not(frame.first + number),
                _ => return Err(SourceError::new(place, "`!` stands before a predicate")),
            },
            Operand::Int(value) => {
                let mask = mask_of(ty);
                match ty {
                    Type::F32 => Source::Value(u64::from((*value as i64 as f32).to_bits())),
                    Type::F64 => Source::Value((*value as i64 as f64).to_bits()),
                    _ => Source::Value(value & mask),
                }
            }
            Operand::Single(bits) => match ty {
                Type::F64 => Source::Value(f64::from(f32::from_bits(*bits)).to_bits()),
                _ => Source::Value(u64::from(*bits)),
            },
            Operand::Double(bits) => match ty {
                Type::F32 => Source::Value(u64::from((f64::from_bits(*bits) as f32).to_bits())),
                _ => Source::Value(*bits),
            },
            Operand::Variable(number) => Source::Value(self.home(frame, *number).1),
            Operand::Name(name) => match Special::from_name(name) {
                Some(special) => Source::Special(special),
                None => self.variable(name, place)?.1,
            },
            // `mov.b64 %rd1, x+8;` is written with brackets nowhere, so an address is no plain value.
            _ => {
                return Err(SourceError::new(
                    place,
                    "this operand has to be a register or a number",
                ));
            }
        })
    }

    fn home(&self, frame: &Frame<'m>, number: u32) -> (Space, u64) {
        frame.homes.get(&number).copied().unwrap_or((Space::Local, LOCAL_WINDOW))
    }

    fn destination(&self, frame: &Frame<'m>, operand: &Operand, place: Place) -> Result<u32> {
        match operand {
            Operand::Register(number) => Ok(frame.first + number),
            _ => Err(SourceError::new(place, "the result has to be a register")),
        }
    }

    fn width(&self, register: u32) -> u32 {
        match self.code.registers[register as usize].1 {
            Type::Pred => 1,
            ty => ty.bytes() * 8,
        }
    }
}

/// The bits that a value of type `ty` has.
fn mask_of(ty: Type) -> u64 {
    match ty {
        Type::Pred => 1,
        _ if ty.bytes() >= 8 => u64::MAX,
        _ => (1 << (ty.bytes() * 8)) - 1,
    }
}

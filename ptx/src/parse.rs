//! The grammar of PTX as LLVM's NVPTX back end writes it. Debug sections and line tables are skipped; scopes are
//! flattened, since every declaration in one gets a number of its own.

use rustc_hash::FxHashMap;

use crate::ast::{Function, Instruction, Operand, Space, Statement, Type, Variable};
use crate::error::{Place, SourceError};
use crate::lex::{Token, tokens};

/// What the text of a module says.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) version: String,
    pub(crate) target: String,
    pub(crate) variables: Vec<Variable>,
    pub(crate) functions: Vec<Function>,
}

/// More registers than any compiler names in one function.
const MOST_REGISTERS: u64 = 1 << 18;
/// More bytes than a variable of any device can have.
const MOST_BYTES: u64 = 1 << 32;

type Result<T> = std::result::Result<T, SourceError>;

/// Parses a module.
pub(crate) fn parse(source: &str) -> Result<Parsed> {
    let mut parser = Parser { tokens: tokens(source)?, at: 0, out: Parsed::default() };
    parser.module()?;
    Ok(parser.out)
}

struct Parser<'t> {
    tokens: Vec<(Token<'t>, Place)>,
    at: usize,
    out: Parsed,
}

#[derive(Clone, Copy)]
enum Entity {
    Register(u32),
    Variable(u32),
}

/// Names of one `{ … }`.
#[derive(Default)]
struct Scope<'t> {
    names: FxHashMap<&'t str, Entity>,
    /// `%r<10>`: prefix, number of the first, how many.
    ranges: FxHashMap<&'t str, (u32, u32)>,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn place(&self) -> Place {
        self.tokens.get(self.at).or(self.tokens.last()).map(|(_, place)| *place).unwrap_or_default()
    }

    fn fail<T>(&self, expected: &str) -> Result<T> {
        let found = match self.peek() {
            None => "the end of the text".to_string(),
            Some(Token::Word(word)) => format!("`{word}`"),
            Some(Token::Directive(name)) => format!("`.{name}`"),
            Some(Token::Mark(mark)) => format!("`{mark}`"),
            Some(Token::Text) => "a quoted text".to_string(),
            Some(Token::Undefined(_)) => "a note of an undefined register".to_string(),
            Some(_) => "a number".to_string(),
        };
        Err(SourceError::new(self.place(), format!("expected {expected}, found {found}")))
    }

    fn eat(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        if self.eat(mark) { Ok(()) } else { self.fail(&format!("`{mark}`")) }
    }

    fn word(&mut self, what: &str) -> Result<&'t str> {
        if let Some(Token::Word(word)) = self.peek() {
            let word = *word;
            self.at += 1;
            return Ok(word);
        }
        self.fail(what)
    }

    fn int(&mut self, what: &str) -> Result<u64> {
        if let Some(Token::Int(value)) = self.peek() {
            let value = *value;
            self.at += 1;
            return Ok(value);
        }
        self.fail(what)
    }

    fn module(&mut self) -> Result<()> {
        let mut is_extern = false;
        while let Some(token) = self.peek() {
            let Token::Directive(name) = token else {
                if matches!(token, Token::Undefined(_)) {
                    self.at += 1;
                    continue;
                }
                return self.fail("a directive such as `.version`, `.visible` or `.global`");
            };
            let name = *name;
            let place = self.place();
            self.at += 1;
            match name {
                "version" => {
                    let major = self.int("a version such as 8.0")?;
                    // `8.0` reads as a number and then `.0`, which is no directive.
                    self.eat_version_tail();
                    self.out.version = major.to_string();
                }
                "target" => {
                    self.out.target = self.word("a target such as sm_80")?.to_string();
                    while self.eat(',') {
                        self.word("an option of the target")?;
                    }
                }
                "address_size" => {
                    let bits = self.int("64")?;
                    if bits != 64 {
                        let message =
                            format!(".address_size {bits}: only 64-bit addresses are run");
                        return Err(SourceError::new(place, message));
                    }
                }
                "extern" => is_extern = true,
                "visible" | "weak" | "common" => {}
                "entry" | "func" => {
                    self.function(name == "entry", place)?;
                    is_extern = false;
                }
                "global" | "const" | "shared" => {
                    let space = match name {
                        "global" => Space::Global,
                        "const" => Space::Const,
                        _ => Space::Shared,
                    };
                    for mut variable in self.variables(space)? {
                        variable.is_extern = is_extern;
                        self.out.variables.push(variable);
                    }
                    is_extern = false;
                }
                "file" | "loc" | "pragma" | "alias" | "language" | "callprototype" => {
                    self.skip_line(place);
                }
                "section" => self.skip_block()?,
                _ => {
                    self.at -= 1;
                    return self.fail("a directive of a module");
                }
            }
        }
        Ok(())
    }

    fn eat_version_tail(&mut self) {
        if matches!(self.peek(), Some(Token::Mark('.'))) {
            self.at += 1;
            if matches!(self.peek(), Some(Token::Int(_))) {
                self.at += 1;
            }
        }
    }

    fn skip_line(&mut self, place: Place) {
        while self.peek().is_some() && self.place().line == place.line {
            self.at += 1;
        }
    }

    fn skip_block(&mut self) -> Result<()> {
        while self.peek().is_some_and(|t| *t != Token::Mark('{')) {
            self.at += 1;
        }
        self.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.peek() {
                None => return self.fail("`}` of this section"),
                Some(Token::Mark('{')) => depth += 1,
                Some(Token::Mark('}')) => depth -= 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    /// `[.align N] .type [.ptr …] name[dims] [= init] {, name …}`, up to and without what ends it.
    fn declaration(&mut self, space: Space) -> Result<(Vec<Variable>, Vec<&'t str>)> {
        let mut align = None;
        let mut ty = None;
        let mut vector = 1;
        while let Some(Token::Directive(name)) = self.peek() {
            let name = *name;
            self.at += 1;
            match name {
                "align" => align = Some(self.int("an alignment")?),
                "ptr" | "global" | "shared" | "local" | "const" | "attribute" | "managed" => {
                    // `.ptr .global .align 1` says what the pointer points to, not how it is stored.
                    if name == "ptr" {
                        while let Some(Token::Directive(name)) = self.peek() {
                            let has_number = *name == "align";
                            self.at += 1;
                            if has_number {
                                self.int("an alignment")?;
                            }
                        }
                    }
                }
                "v2" => vector = 2,
                "v4" => vector = 4,
                _ => match Type::from_name(name) {
                    Some(found) => ty = Some(found),
                    None => {
                        self.at -= 1;
                        return self.fail("a type such as .b32");
                    }
                },
            }
        }
        let Some(ty) = ty else { return self.fail("a type such as .b32") };
        let element = u64::from(ty.bytes()) * vector;
        let align = align.unwrap_or(element);
        if !align.is_power_of_two() || align > 1 << 16 {
            return self.fail("an alignment that is a power of two");
        }
        let (mut variables, mut names) = (Vec::new(), Vec::new());
        loop {
            let place = self.place();
            let name = self.word("a name")?;
            let mut count = 1_u64;
            let mut is_open = false;
            while self.eat('[') {
                if self.eat(']') {
                    is_open = true;
                    continue;
                }
                count = count.saturating_mul(self.int("a number of elements")?);
                self.expect(']')?;
            }
            let mut init = None;
            if self.eat('=') {
                let mut bytes = Vec::new();
                self.initialiser(ty, &mut bytes)?;
                init = Some(bytes);
            }
            let mut bytes = if is_open { 0 } else { count.saturating_mul(element) };
            if let Some(init) = &init {
                if is_open {
                    bytes = init.len() as u64;
                }
                if init.len() as u64 > bytes {
                    let message = format!("{name} has {bytes} bytes, but {} are given", init.len());
                    return Err(SourceError::new(place, message));
                }
            }
            if bytes > MOST_BYTES {
                return Err(SourceError::new(place, format!("{name} would take {bytes} bytes")));
            }
            variables.push(Variable {
                name: name.to_string(),
                space,
                align: align as u32,
                bytes,
                init,
                is_extern: false,
            });
            names.push(name);
            // A list of parameters also goes on with a comma; then a directive follows.
            let goes_on = self.peek() == Some(&Token::Mark(','))
                && matches!(self.tokens.get(self.at + 1), Some((Token::Word(_), _)));
            if !goes_on {
                return Ok((variables, names));
            }
            self.at += 1;
        }
    }

    fn initialiser(&mut self, ty: Type, bytes: &mut Vec<u8>) -> Result<()> {
        if self.eat('{') {
            loop {
                self.initialiser(ty, bytes)?;
                if !self.eat(',') {
                    return self.expect('}');
                }
            }
        }
        let is_negative = self.eat('-');
        let width = ty.bytes().min(8) as usize;
        let value = match self.peek() {
            Some(Token::Int(value)) if is_negative => value.wrapping_neg(),
            Some(Token::Int(value)) => *value,
            Some(Token::Single(value)) => u64::from(*value),
            Some(Token::Double(value)) => *value,
            _ => {
                let error = self.fail::<()>("a number").unwrap_err();
                return Err(error.hint("addresses as initial values are not supported"));
            }
        };
        self.at += 1;
        bytes.extend_from_slice(&value.to_le_bytes()[..width]);
        Ok(())
    }

    fn variables(&mut self, space: Space) -> Result<Vec<Variable>> {
        let (variables, _) = self.declaration(space)?;
        self.expect(';')?;
        Ok(variables)
    }

    fn params(&mut self, function: &mut Function, scope: &mut Scope<'t>) -> Result<Vec<u32>> {
        let mut numbers = Vec::new();
        if !self.eat('(') || self.eat(')') {
            return Ok(numbers);
        }
        loop {
            match self.peek() {
                Some(Token::Directive("param")) => self.at += 1,
                _ => return self.fail("`.param`"),
            }
            let (variables, names) = self.declaration(Space::Param)?;
            for (variable, name) in variables.into_iter().zip(names) {
                let number = function.variables.len() as u32;
                scope.names.insert(name, Entity::Variable(number));
                function.variables.push(variable);
                numbers.push(number);
            }
            if !self.eat(',') {
                self.expect(')')?;
                return Ok(numbers);
            }
        }
    }

    fn function(&mut self, is_entry: bool, place: Place) -> Result<()> {
        let mut function = Function {
            name: String::new(),
            is_entry,
            is_defined: false,
            params: Vec::new(),
            results: Vec::new(),
            registers: Vec::new(),
            variables: Vec::new(),
            body: Vec::new(),
            threads: None,
            place,
        };
        let mut scope = Scope::default();
        if !is_entry {
            function.results = self.params(&mut function, &mut scope)?;
        }
        function.name = self.word("the name of a function")?.to_string();
        function.params = self.params(&mut function, &mut scope)?;
        loop {
            match self.peek() {
                Some(Token::Directive("maxntid" | "reqntid")) => {
                    let is_exact = self.peek() == Some(&Token::Directive("reqntid"));
                    self.at += 1;
                    let mut threads = [1; 3];
                    for (i, slot) in threads.iter_mut().enumerate() {
                        if i > 0 && !self.eat(',') {
                            break;
                        }
                        *slot = self.int("a number of threads")?.min(u64::from(u32::MAX)) as u32;
                    }
                    function.threads = Some((threads, is_exact));
                }
                Some(Token::Directive(
                    "minnctapersm" | "maxnreg" | "noreturn" | "explicitcluster"
                    | "reqnctapercluster" | "maxclusterrank" | "blocksareclusters",
                )) => {
                    self.at += 1;
                    while matches!(self.peek(), Some(Token::Int(_) | Token::Mark(','))) {
                        self.at += 1;
                    }
                }
                Some(Token::Directive("pragma" | "attribute")) => {
                    let place = self.place();
                    self.skip_line(place);
                }
                _ => break,
            }
        }
        if !self.eat(';') {
            self.expect('{')?;
            function.is_defined = true;
            self.body(&mut function, scope)?;
        }
        // A prototype and its definition are one function.
        match self.out.functions.iter_mut().find(|f| f.name == function.name) {
            Some(known) if known.is_defined && function.is_defined => {
                let message = format!("{} is defined twice", function.name);
                return Err(SourceError::new(place, message));
            }
            Some(known) if function.is_defined => *known = function,
            Some(_) => {}
            None => self.out.functions.push(function),
        }
        Ok(())
    }

    fn body(&mut self, function: &mut Function, outer: Scope<'t>) -> Result<()> {
        let mut scopes = vec![outer, Scope::default()];
        while scopes.len() > 1 {
            let place = self.place();
            match self.peek() {
                None => return self.fail("`}` of this function"),
                Some(Token::Undefined(name)) => {
                    if let Some(Entity::Register(number)) = find(&scopes, name) {
                        function.body.push(Statement::Undefined(number, place));
                    }
                    self.at += 1;
                }
                Some(Token::Mark('{')) => {
                    self.at += 1;
                    scopes.push(Scope::default());
                }
                Some(Token::Mark('}')) => {
                    self.at += 1;
                    scopes.pop();
                }
                Some(Token::Mark(';')) => self.at += 1,
                Some(Token::Directive(name)) => {
                    let name = *name;
                    self.at += 1;
                    self.local_directive(name, place, function, &mut scopes)?;
                }
                Some(Token::Word(word))
                    if matches!(self.tokens.get(self.at + 1), Some((Token::Mark(':'), _))) =>
                {
                    let word = *word;
                    self.at += 2;
                    self.label(word, place, function)?;
                }
                Some(Token::Word(_) | Token::Mark('@')) => {
                    let instruction = self.instruction(&scopes)?;
                    function.body.push(Statement::Instruction(instruction));
                }
                Some(_) => return self.fail("an instruction, a label or a directive"),
            }
        }
        Ok(())
    }

    fn label(&mut self, name: &str, place: Place, function: &mut Function) -> Result<()> {
        if self.peek() == Some(&Token::Directive("branchtargets")) {
            self.at += 1;
            let mut targets = Vec::new();
            loop {
                targets.push(self.word("a label")?.to_string());
                if !self.eat(',') {
                    break;
                }
            }
            self.expect(';')?;
            function.body.push(Statement::Targets(name.to_string(), targets));
        } else {
            function.body.push(Statement::Label(name.to_string(), place));
        }
        Ok(())
    }

    fn local_directive(
        &mut self,
        name: &str,
        place: Place,
        function: &mut Function,
        scopes: &mut [Scope<'t>],
    ) -> Result<()> {
        let Some(scope) = scopes.last_mut() else { return self.fail("a scope") };
        match name {
            "reg" => {
                let ty = match self.peek() {
                    Some(Token::Directive(name)) => Type::from_name(name),
                    _ => None,
                };
                let Some(ty) = ty else { return self.fail("a type such as .b32") };
                self.at += 1;
                loop {
                    let place = self.place();
                    let name = self.word("a register")?;
                    let first = function.registers.len() as u32;
                    if self.eat('<') {
                        let count = self.int("a number of registers")?;
                        if count + function.registers.len() as u64 > MOST_REGISTERS {
                            let message = format!("{count} registers are more than are run");
                            return Err(SourceError::new(place, message));
                        }
                        self.expect('>')?;
                        scope.ranges.insert(name, (first, count as u32));
                        for i in 0..count {
                            function.registers.push((format!("{name}{i}"), ty));
                        }
                    } else {
                        scope.names.insert(name, Entity::Register(first));
                        function.registers.push((name.to_string(), ty));
                    }
                    if !self.eat(',') {
                        break;
                    }
                }
                self.expect(';')
            }
            "local" | "shared" | "param" | "const" | "global" => {
                let space = match name {
                    "local" => Space::Local,
                    "shared" => Space::Shared,
                    "param" => Space::Param,
                    "const" => Space::Const,
                    _ => Space::Global,
                };
                let (variables, names) = self.declaration(space)?;
                self.expect(';')?;
                for (variable, name) in variables.into_iter().zip(names) {
                    let number = function.variables.len() as u32;
                    scope.names.insert(name, Entity::Variable(number));
                    function.variables.push(variable);
                }
                Ok(())
            }
            "loc" | "pragma" | "file" | "callprototype" => {
                self.skip_line(place);
                Ok(())
            }
            _ => {
                self.at -= 1;
                self.fail("a directive of a function body")
            }
        }
    }

    fn instruction(&mut self, scopes: &[Scope<'t>]) -> Result<Instruction> {
        let mut guard = None;
        let place = self.place();
        if self.eat('@') {
            let is_negated = self.eat('!');
            let place = self.place();
            let name = self.word("a predicate register")?;
            let Some(Entity::Register(number)) = find(scopes, name) else {
                return Err(SourceError::new(place, format!("{name} is no declared register")));
            };
            guard = Some((number, is_negated));
        }
        let opcode = self.word("an instruction")?.to_string();
        let mut operands = Vec::new();
        while !self.eat(';') {
            if !operands.is_empty() {
                self.expect(',')?;
            }
            operands.push(self.operand(scopes, 0)?);
        }
        Ok(Instruction { guard, opcode, operands, place })
    }

    fn operand(&mut self, scopes: &[Scope<'t>], depth: u32) -> Result<Operand> {
        if depth > 8 {
            return self.fail("fewer brackets");
        }
        let first = self.simple_operand(scopes, depth)?;
        if self.eat('|') {
            let second = self.simple_operand(scopes, depth)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn simple_operand(&mut self, scopes: &[Scope<'t>], depth: u32) -> Result<Operand> {
        let place = self.place();
        let Some(token) = self.peek().cloned() else { return self.fail("an operand") };
        self.at += 1;
        Ok(match token {
            Token::Word("_") => Operand::Sink,
            Token::Word(name) => match find(scopes, name) {
                Some(Entity::Register(number)) => Operand::Register(number),
                Some(Entity::Variable(number)) => Operand::Variable(number),
                None => {
                    let is_special = crate::special::Special::from_name(name).is_some();
                    if name.starts_with('%') && !is_special {
                        let message = format!(
                            "{name} is neither a declared register nor a special one that is supported"
                        );
                        return Err(SourceError::new(place, message));
                    }
                    Operand::Name(name.to_string())
                }
            },
            Token::Int(value) => Operand::Int(value),
            Token::Single(bits) => Operand::Single(bits),
            Token::Double(bits) => Operand::Double(bits),
            Token::Mark('-') => Operand::Int(self.int("a number")?.wrapping_neg()),
            Token::Mark('!') => Operand::Not(Box::new(self.simple_operand(scopes, depth + 1)?)),
            Token::Mark('{') => Operand::Vector(self.operands_until('}', scopes, depth)?),
            Token::Mark('(') => Operand::List(self.operands_until(')', scopes, depth)?),
            Token::Mark('[') => {
                let base = self.operand(scopes, depth + 1)?;
                let mut offset = 0;
                if self.eat('+') {
                    let is_negative = self.eat('-');
                    let value = self.int("an offset")?;
                    offset = if is_negative { value.wrapping_neg() } else { value } as i64;
                } else if self.eat('-') {
                    offset = self.int("an offset")?.wrapping_neg() as i64;
                }
                self.expect(']')?;
                Operand::Address(Box::new(base), offset)
            }
            _ => {
                self.at -= 1;
                return self.fail("an operand");
            }
        })
    }

    fn operands_until(
        &mut self,
        end: char,
        scopes: &[Scope<'t>],
        depth: u32,
    ) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        while !self.eat(end) {
            if !operands.is_empty() {
                self.expect(',')?;
            }
            operands.push(self.operand(scopes, depth + 1)?);
        }
        Ok(operands)
    }
}

fn find(scopes: &[Scope<'_>], name: &str) -> Option<Entity> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let index: Option<u32> = name[prefix.len()..].parse().ok();
    scopes.iter().rev().find_map(|scope| {
        let exact = scope.names.get(name).copied();
        exact.or_else(|| {
            let (first, count) = scope.ranges.get(prefix)?;
            let index = index.filter(|i| i < count)?;
            Some(Entity::Register(first + index))
        })
    })
}

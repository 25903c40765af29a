//! Reads the options of a service from a file: `taktos controller --config FILE` and
//! `taktos switch --config FILE`.
//!
//! The file is TOML. Each key is the long name of an option, a list is an option that is
//! repeated, and `true` is one without a value. What the command line says goes before what
//! the file says. Mistakes are shown at their places, as those of scenarios are.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::exit::Exit;
use super::text_file;

/// The option that names the file.
const OPTION: &str = "config";
/// The longest file that is read, in bytes.
const LONGEST_FILE: usize = 1 << 20;
/// How much like an option a key has to be for it to be meant.
const LIKENESS: f64 = 0.7;

/// Puts what the files say that the command line names before what it says itself.
///
/// # Errors
///
/// How the program ends; it has been said why.
pub fn expand(program: &Command, given: Vec<OsString>) -> Result<Vec<OsString>, Exit> {
    let command = given.get(1).and_then(|name| program.find_subcommand(name));
    let takes_file = |command: &&Command| command.get_arguments().any(|arg| arg.get_id() == OPTION);
    let Some(command) = command.filter(takes_file) else {
        return Ok(given);
    };
    let Some(file) = value_of(OPTION, &given) else {
        return Ok(given);
    };
    let path = Path::new(file);
    let text = text_file::read(path, LONGEST_FILE)?;
    let said = options_of(command, &given, &text).map_err(|labels| {
        let count = match labels.len() {
            1 => "a mistake".to_owned(),
            count => format!("{count} mistakes"),
        };
        let mistakes = MietteDiagnostic::new(format!("{} has {count}", path.display()))
            .with_code("taktos::config")
            .with_help(format!(
                "`taktos {} --help` lists all options",
                command.get_name()
            ))
            .with_labels(labels);
        let source = NamedSource::new(path.display().to_string(), text.clone());
        let report = Report::new(mistakes).with_source_code(source.with_language("TOML"));
        text_file::show(report.as_ref())
    })?;
    let (before, own) = given.split_at(2);
    Ok([before, &said, own].concat())
}

/// Returns the value that a command line gives an option, if it does.
fn value_of<'a>(option: &str, given: &'a [OsString]) -> Option<&'a OsStr> {
    let named = format!("--{option}");
    let joined = format!("{named}=");
    let mut left = given.iter();
    while let Some(argument) = left.next() {
        if argument == named.as_str() {
            return left.next().map(OsString::as_os_str);
        }
        let text = argument.to_str().unwrap_or_default();
        if let Some(value) = text.strip_prefix(&joined) {
            return Some(OsStr::new(value));
        }
    }
    None
}

/// Returns the options that a file gives and the command line does not, or each mistake at
/// its place.
fn options_of(
    command: &Command,
    given: &[OsString],
    text: &str,
) -> Result<Vec<OsString>, Vec<LabeledSpan>> {
    let table = DeTable::parse(text).map_err(|error| {
        let place = error.span().unwrap_or(0..0);
        vec![LabeledSpan::at(place, error.message())]
    })?;
    let (mut options, mut mistakes) = (Vec::new(), Vec::new());
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        let option = match option_named(command, name) {
            Ok(option) => option,
            Err(why) => {
                mistakes.push(LabeledSpan::at(key.span(), why));
                continue;
            }
        };
        let named = OsString::from(format!("--{name}"));
        let joined = format!("--{name}=");
        let is_given = |argument: &OsString| {
            *argument == named || argument.to_str().is_some_and(|it| it.starts_with(&joined))
        };
        for (place, option) in arguments(option, name, value) {
            match option.and_then(|option| fits(command, option)) {
                Ok(option) if given.iter().any(is_given) => drop(option),
                Ok(option) => options.extend(option.map(OsString::from)),
                Err(why) => mistakes.push(LabeledSpan::at(place, why)),
            }
        }
    }
    match mistakes.is_empty() {
        true => Ok(options),
        false => Err(mistakes),
    }
}

/// Returns the option of a long name, or says what may be meant.
fn option_named<'a>(command: &'a Command, name: &str) -> Result<&'a Arg, String> {
    let known = command
        .get_arguments()
        .filter_map(|arg| Some((arg.get_long()?, arg)));
    let known: Vec<_> = known
        .filter(|(long, _)| !["help", "version", OPTION].contains(long))
        .collect();
    let alike = |long: &str| strsim::jaro_winkler(long, name);
    let nearest = known
        .iter()
        .max_by(|one, other| alike(one.0).total_cmp(&alike(other.0)));
    match nearest {
        Some((long, option)) if *long == name => Ok(option),
        Some((long, _)) if alike(long) > LIKENESS => {
            Err(format!("no such option; did you mean `{long}`?"))
        }
        Some(_) | None => Err("no such option".to_owned()),
    }
}

/// What a value says: an argument, or nothing for a flag that is not set; or what is wrong.
type Said = Result<Option<String>, String>;

/// Returns what a value says, with the place of each part.
fn arguments(
    option: &Arg,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Vec<(std::ops::Range<usize>, Said)> {
    let is_flag = !option.get_action().takes_values();
    let repeats = matches!(option.get_action(), ArgAction::Append);
    let one = |value: &Spanned<DeValue<'_>>| {
        let said = match (value.get_ref(), is_flag) {
            (DeValue::Boolean(is_set), true) => Ok(is_set.then(|| format!("--{name}"))),
            (_, true) => Err("true or false, please".to_owned()),
            (DeValue::String(text), false) => Ok(Some(format!("--{name}={text}"))),
            (DeValue::Integer(number), false) => Ok(Some(format!("--{name}={number}"))),
            (_, false) => Err("a text in quotes or a number, please".to_owned()),
        };
        (value.span(), said)
    };
    match value.get_ref() {
        DeValue::Array(values) if repeats => values.iter().map(one).collect(),
        DeValue::Array(_) => vec![(
            value.span(),
            Err("one value, please: it is not repeated".to_owned()),
        )],
        _ => vec![one(value)],
    }
}

/// Returns the argument if the option takes its value, by itself.
///
/// # Errors
///
/// Why not.
fn fits(command: &Command, argument: Option<String>) -> Said {
    let Some(argument) = argument else {
        return Ok(None);
    };
    let alone = command.clone().mut_args(|arg| arg.required(false));
    match alone.try_get_matches_from([command.get_name(), &argument]) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidValue | ErrorKind::ValueValidation
            ) =>
        {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(first.trim_start_matches("error: ").to_owned())
        }
        // What it asks for beside it may be elsewhere.
        Ok(_) | Err(_) => Ok(Some(argument)),
    }
}

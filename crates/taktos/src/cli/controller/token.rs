//! `taktos controller token`: makes a token.

use std::path::PathBuf;

use super::super::exit::Exit;
use super::super::screen::{print, say};
use crate::web::gate::Role;
use crate::web::gate::tokens::{self, TokensError};

/// What `taktos controller token` is told.
#[derive(Debug, clap::Args)]
pub struct Token {
    /// Who will use it: the audit log names this.
    name: String,
    /// What it allows.
    #[arg(value_enum)]
    role: Role,
    /// The application on whose behalf it asks: its permissions apply then, too.
    #[arg(long, value_name = "NAME")]
    application: Option<String>,
    /// The file that the controller is given as --tokens; made if it is not there.
    #[arg(long, value_name = "FILE", default_value = "tokens")]
    tokens: PathBuf,
}

/// Makes a token, appends its hash to the file, and prints it.
pub fn token(arguments: &Token) -> Exit {
    let application = arguments.application.as_deref();
    let made = tokens::make(
        &arguments.tokens,
        &arguments.name,
        arguments.role,
        application,
    );
    match made {
        Ok(token) => {
            let kept = arguments.tokens.display();
            say(format_args!(
                "its hash is in {kept}; the token itself is shown once. A controller that runs \
                 learns of it when it is started again"
            ));
            match print(&format!("{token}\n")) {
                Ok(()) => Exit::Done,
                Err(_) => Exit::Fault,
            }
        }
        Err(error) => {
            say(format_args!("taktos: {error}"));
            refused(&error)
        }
    }
}

fn refused(error: &TokensError) -> Exit {
    match error {
        TokensError::Name(_)
        | TokensError::Line { .. }
        | TokensError::None { .. }
        | TokensError::TooMany { .. } => Exit::BadInput,
        TokensError::File { .. } | TokensError::Random => Exit::Lacking,
    }
}

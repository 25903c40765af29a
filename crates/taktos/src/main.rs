//! The program `taktos`: reads the command line and does what it says.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// It has no step that tidies up for milliseconds before a flow is answered (decision 0027).
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    taktos::cli::main()
}

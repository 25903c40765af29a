//! The compiler of the programs that run in the kernel.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::target_folder;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// What every program is compiled with. The object is the same wherever the
/// checkout lies, since the compiler runs beside the source and is told that it
/// runs nowhere.
const OPTIONS: [&str; 10] = [
    "-O2",
    "-g",
    "-std=gnu11",
    "-mcpu=v3",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffreestanding",
    "-nostdinc",
    "-fdebug-compilation-dir=.",
];
const TARGET: &str = "bpfel";

/// An installed clang.
#[derive(Debug)]
pub struct Clang {
    version: String,
    strip: PathBuf,
}

impl Clang {
    /// Finds clang and the tool that goes with it.
    ///
    /// # Errors
    ///
    /// If it is not installed.
    pub fn find() -> Result<Self, Failure> {
        let version = first_line(&["--version"])?;
        let strip = first_line(&["-print-prog-name=llvm-strip"])?;
        Ok(Self {
            version,
            strip: strip.into(),
        })
    }

    /// Returns how it names itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Compiles `program` and returns the object, with its types (BTF) and without
    /// what only debuggers read (DWARF).
    ///
    /// # Errors
    ///
    /// If the compiler refuses the program, or cannot be run.
    pub fn compile(&self, workspace: &Workspace, program: &Path) -> Result<Vec<u8>, Failure> {
        let source = workspace.root().join(program);
        let (folder, name) = (source.parent(), source.file_name());
        let (folder, name) = folder.zip(name).expect("a program is a file in a folder");
        let scratch = scratch_folder()?;
        let object = scratch.join(name).with_extension("o");
        let mut compile = Command::new("clang");
        compile.current_dir(folder).args(["-target", TARGET]);
        compile.args(OPTIONS).arg("-c").arg(name);
        run(compile.arg("-o").arg(&object), "clang")?;
        run(
            Command::new(&self.strip).arg("-g").arg(&object),
            "llvm-strip",
        )?;
        let bytes = std::fs::read(&object).map_err(Failure::at(&object))?;
        std::fs::remove_dir_all(&scratch).map_err(Failure::at(&scratch))?;
        Ok(bytes)
    }
}

/// Returns a fresh folder that no other run of this program uses.
fn scratch_folder() -> Result<PathBuf, Failure> {
    let folder = target_folder().join(format!("bpf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    Ok(folder)
}

fn run(command: &mut Command, name: &str) -> Result<(), Failure> {
    let failed = |error| Failure::Program {
        name: name.to_owned(),
        error,
    };
    let status = command.status().map_err(failed)?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Missing(format!("{name} ended with {status}")))
    }
}

fn first_line(arguments: &[&str]) -> Result<String, Failure> {
    let missing = |_| {
        let text = "needs clang and llvm-strip: Debian packages clang and llvm";
        Failure::Missing(text.to_owned())
    };
    let output = Command::new("clang")
        .args(arguments)
        .output()
        .map_err(missing)?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

//! Options of services, from files.

use crate::workplace::Workplace;

/// What is said of a file with a mistake, by a controller that never starts.
fn refused(text: &str) -> String {
    let workplace = Workplace::new();
    workplace.write("controller.toml", text);
    let ended = workplace.run(&["controller", "--config", "controller.toml"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    ended.stderr
}

#[test]
fn each_mistake_is_shown_at_its_place() {
    let said = refused(
        "# Options.\nhtpp = \"127.0.0.1:8181\"\ntake-over = \"yes\"\napp = [\"magic\"]\n\
         id = [\"one\"]\nconfig = \"other.toml\"\n",
    );

    for expected in [
        "controller.toml has 5 mistakes",
        "did you mean `http`?",
        "true or false, please",
        "invalid value 'magic' for '--app <NAME>'",
        "one value, please",
        "no such option",
        "controller.toml:2:1",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let said = refused("http = 127.0.0.1\n");
    assert!(said.contains("controller.toml:1:"), "{said}");
}

#[test]
fn what_options_of_a_file_ask_for_beside_them_is_still_asked_for() {
    let said = refused("openflow-tls-cert = \"cert.pem\"\nopenflow = [\"ssl:127.0.0.1:0\"]\n");

    assert!(said.contains("--openflow-tls-ca"), "{said}");
}

/// The file's own address cannot be listened at, so the one of the command line was taken.
#[test]
fn the_command_line_goes_before_the_file_and_a_file_that_is_not_there_is_named() {
    let workplace = Workplace::new();
    workplace.write(
        "controller.toml",
        "http = \"192.0.2.1:1\"\nid = \"from the file\"\n",
    );
    let by_file = workplace.run(&["controller", "--config", "controller.toml"]);
    assert_ne!(by_file.code, Some(0));
    assert!(by_file.stderr.contains("192.0.2.1:1"), "{}", by_file.stderr);

    let command = [
        "controller",
        "--config=controller.toml",
        "--http",
        "192.0.2.2:1",
    ];
    let by_command = workplace.run(&command);
    assert!(
        by_command.stderr.contains("192.0.2.2:1"),
        "{}",
        by_command.stderr
    );

    let nowhere = workplace.run(&["switch", "--config", "nowhere.toml"]);
    assert_eq!(nowhere.code, Some(2));
    assert!(
        nowhere.stderr.contains("nowhere.toml"),
        "{}",
        nowhere.stderr
    );
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let workplace = Workplace::new();
    std::fs::create_dir(workplace.path("man")).unwrap();

    let script = workplace.run(&["completions", "bash"]);
    let written = workplace.run(&["manual", "man"]);

    assert_eq!((script.code, written.code), (Some(0), Some(0)));
    for command in ["run", "admit", "controller", "switch"] {
        assert!(
            script.stdout.contains(&format!("taktos__{command}"))
                || script
                    .stdout
                    .contains(&format!("taktos__subcmd__{command}")),
            "{command}"
        );
        let page = workplace.path(&format!("man/taktos-{command}.1"));
        let text = std::fs::read_to_string(page).unwrap();
        assert!(text.contains("SYNOPSIS"), "{text}");
    }
}

//! Exit codes that a scheduler understands, and stopping when the system asks.

use meniscus::{Cancel, Error};
use std::time::{Duration, Instant};

/// A fault of the program.
pub const INTERNAL: u8 = 1;
/// The scene or the command is wrong; running it again gives the same.
pub const WRONG: u8 = 2;
/// Memory, disk or a lock is missing; it may work elsewhere or later.
pub const RESOURCE: u8 = 3;
/// Somebody asked to stop.
pub const CANCELLED: u8 = 4;
/// The simulation left the numbers it can trust.
pub const DIVERGED: u8 = 5;

/// The part of `--help` that explains the codes.
pub const HELP: &str = "\
Exit codes:
  0  done
  1  a fault of meniscus itself: please report it
  2  the scene or the command is wrong: do not retry, read the message
  3  memory, disk or a lock is missing: retry later or elsewhere
  4  stopped by Ctrl-C or SIGTERM; frames that were finished are whole
  5  the simulation diverged; frames before it are whole (validate: a known answer was missed)";

/// The exit code for an error.
pub fn code(error: &Error) -> u8 {
    match error {
        Error::Invalid { .. }
        | Error::Scene { .. }
        | Error::Geometry { .. }
        | Error::Format { .. }
        | Error::Version { .. }
        | Error::Unsupported { .. } => WRONG,
        Error::Io { .. } | Error::Memory { .. } | Error::Busy { .. } => RESOURCE,
        Error::Cancelled => CANCELLED,
        Error::Diverged { .. } => DIVERGED,
        _ => INTERNAL,
    }
}

/// The first Ctrl-C, SIGTERM or SIGHUP asks the work to stop; one that comes a second later or more does
/// not wait for it. Schedulers often signal a process and its group at once, which must count as one.
pub fn cancel_on_signals(stop: &Cancel) {
    let stop = stop.clone();
    let mut first: Option<Instant> = None;
    let installed = ctrlc::set_handler(move || match first {
        Some(asked) if asked.elapsed() > Duration::from_secs(1) => std::process::exit(i32::from(CANCELLED)),
        Some(_) => {}
        None => {
            first = Some(Instant::now());
            stop.cancel();
        }
    });
    if installed.is_err() {
        super::terminal::complain("meniscus: Ctrl-C cannot be caught here; it will stop at once");
    }
}

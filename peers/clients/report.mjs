// What every client script of this folder shares: reading its command line, and saying
// `ok NAME` or `not ok NAME: why` once per check, which is what `cargo xtask test` counts.

// These only decide how late a check fails: far more than a busy machine needs.
const CHECK_LIMIT_MS = 300_000;
const WAIT_MS = 120_000;
const POLL_MS = 50;

/**
 * Reads `--era E (--http URL [--token T] | --stdio) [--only SERVER] [--plain] --folder DIR
 * --repository DIR [-- COMMAND ARGUMENT…]`.
 */
export function readArguments(argv) {
  const end = argv.indexOf("--");
  const options = { command: end < 0 ? [] : argv.slice(end + 1), servers: ["everything", "filesystem", "git", "time"] };
  const words = end < 0 ? argv : argv.slice(0, end);
  for (let at = 0; at < words.length; at += 1) {
    switch (words[at]) {
      case "--era": options.era = words[++at]; break;
      case "--http": options.http = words[++at]; break;
      case "--token": options.token = words[++at]; break;
      case "--stdio": options.stdio = true; break;
      case "--only": options.servers = [words[++at]]; break;
      case "--plain": options.plain = true; break;
      case "--folder": options.folder = words[++at]; break;
      case "--repository": options.repository = words[++at]; break;
      default: throw new Error(`unknown argument \`${words[at]}\``);
    }
  }
  if (Boolean(options.http) === Boolean(options.stdio)) throw new Error("give either `--http URL` or `--stdio -- COMMAND`");
  return options;
}

let failures = 0;

/** Runs one check. A check that throws or does not end is a failed one; the others still run. */
export async function check(name, body) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CHECK_LIMIT_MS / 1000} s`)), CHECK_LIMIT_MS);
  });
  try {
    await Promise.race([body(), limit]);
    console.log(`ok ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`not ok ${name}: ${oneLine(error?.message ?? error)}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until `look` finds something. */
export async function until(look, what) {
  const end = Date.now() + WAIT_MS;
  while (Date.now() < end) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${what} did not happen`);
}

/** Ends the process: a transport that was left open must not keep it alive. */
export function finish() {
  process.exit(failures === 0 ? 0 : 1);
}

export function equal(actual, expected, what) {
  const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== e) throw new Error(`${what} is ${a}, expected ${e}`);
}

export function contains(text, part, what) {
  if (!String(text).includes(part)) throw new Error(`${what} is ${JSON.stringify(text)}, expected it to contain ${JSON.stringify(part)}`);
}

/** The error of a promise that has to fail. */
export async function failure(promise, what) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`${what} answered ${JSON.stringify(value)}, expected an error`);
}

function oneLine(text) {
  return String(text).replaceAll(/\s+/g, " ").slice(0, 600);
}

// The module of the approval page. It builds no markup: it writes sentences into elements that the server made, and
// carries what passkeys say to the gateway, unmodified.

const { page, csrf } = document.body.dataset;
const SECRET = "highwater-page-secret";
const byId = (id) => document.getElementById(id);

/** What the gateway refused, with the word that says why. */
class Refused extends Error {
  constructor(words, reason) {
    super(words);
    this.reason = reason;
  }
}

/**
 * What the program that opened this page put behind its address, where it is sent to nobody. It is taken out at once, so
 * that it stays in no history and in no tab that somebody copies.
 */
const HANDED = /^#(sign-in|enroll)=([\w-]+)$/;
const handed = (() => {
  const found = HANDED.exec(location.hash);
  if (!found) return {};
  history.replaceState(null, "", location.pathname + location.search);
  return { [found[1]]: found[2] };
})();

// In a tab that shows the page already nothing is loaded, and this would not run again.
window.addEventListener("hashchange", () => HANDED.test(location.hash) && location.reload());

async function post(path, value = {}) {
  const headers = { "content-type": "application/json", "highwater-csrf": csrf };
  // Kept in this origin's storage, which, unlike a cookie, no other port of this machine can read.
  const secret = localStorage.getItem(SECRET);
  if (secret) headers[SECRET] = secret;
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(value) });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(said.error ?? `the gateway answered ${answer.status}`, said.reason);
  if (said.secret) localStorage.setItem(SECRET, said.secret);
  return said;
}

function say(words, tone = "") {
  const status = byId("status");
  if (!status) return;
  status.className = tone;
  status.textContent = words;
}

// --- passkeys

const decode = (text) => {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (c) => c.charCodeAt(0));
};
const encode = (buffer) => {
  const plain = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
};
const listed = (list) => (list ?? []).map((entry) => ({ ...entry, id: decode(entry.id) }));

/** For browsers without the functions that read options from JSON. */
function readOptions(options) {
  const read = { ...options, challenge: decode(options.challenge) };
  if (options.user) read.user = { ...options.user, id: decode(options.user.id) };
  if (options.allowCredentials) read.allowCredentials = listed(options.allowCredentials);
  if (options.excludeCredentials) read.excludeCredentials = listed(options.excludeCredentials);
  return read;
}

/** For browsers whose credentials cannot be written as JSON. */
function written(credential) {
  if (credential.toJSON) return credential.toJSON();
  const response = {};
  const parts = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  for (const part of parts) if (credential.response[part]) response[part] = encode(credential.response[part]);
  if (credential.response.getTransports) response.transports = credential.response.getTransports();
  const { id, type, authenticatorAttachment } = credential;
  return { id, rawId: encode(credential.rawId), type, authenticatorAttachment, response, clientExtensionResults: {} };
}

async function sign(options) {
  const read = PublicKeyCredential.parseRequestOptionsFromJSON ?? readOptions;
  return written(await navigator.credentials.get({ publicKey: read.call(PublicKeyCredential, options) }));
}

async function create(options) {
  const read = PublicKeyCredential.parseCreationOptionsFromJSON ?? readOptions;
  return written(await navigator.credentials.create({ publicKey: read.call(PublicKeyCredential, options) }));
}

/** What went wrong, in words. Refusals are told apart by their reason, never by their message. */
function words(error) {
  switch (error.name) {
    case "NotAllowedError":
      return "Nothing was approved: it was cancelled, took too long, or you were not verified. You can try again.";
    case "InvalidStateError":
      return "This device or key already has a passkey here. Use another one.";
    case "SecurityError":
      return "Passkeys do not work at this address. Open the link that the gateway gave you.";
    default:
      break;
  }
  switch (error.reason) {
    case "no_eligible_credential":
      return "None of your passkeys may approve this tool. Add one that fits on the page “Passkeys”.";
    case "challenge_expired":
      return "That took longer than a minute. Nothing was approved; please try again.";
    case "signature_counter_regression":
      return "The counter of this passkey went backwards, as if there were a copy of it. Nothing was approved.";
    case "unknown_credential":
      return "This passkey does not count here. Nothing was approved.";
    default:
      return `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`;
  }
}

/** Runs what a button is for, once at a time, and says how it went. */
function on(id, event, act) {
  byId(id)?.addEventListener(event, async (happened) => {
    happened.preventDefault();
    const buttons = [...document.querySelectorAll("main button")];
    const before = buttons.map((button) => button.disabled);
    buttons.forEach((button) => (button.disabled = true));
    try {
      await act(happened);
    } catch (error) {
      if (error.reason === "sign_in_required") return signInAgain();
      say(words(error), "bad");
    }
    buttons.forEach((button, at) => (button.disabled = before[at]));
  });
}

async function signInAgain() {
  localStorage.removeItem(SECRET);
  await post("/sign-out").catch(() => {});
  location.reload();
}

// --- times

function writeTimes() {
  const today = new Date().toDateString();
  for (const time of document.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
    const day = { day: "numeric", month: "short" };
    time.textContent = at.toLocaleString([], at.toDateString() === today ? clock : { ...day, ...clock });
  }
}

function countDown(over) {
  const start = performance.now();
  const timers = [...document.querySelectorAll("[data-left]")];
  if (!timers.length) return;
  const tick = () => {
    let ended = false;
    for (const timer of timers) {
      const left = Math.max(0, Number(timer.dataset.left) - (performance.now() - start));
      const seconds = Math.ceil(left / 1000);
      timer.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
      timer.classList.toggle("soon", seconds <= 30);
      if (seconds === 30 && timers.length === 1) say("Thirty seconds are left.");
      ended ||= left === 0;
    }
    if (ended) {
      clearInterval(ticking);
      setTimeout(over, 700);
    }
  };
  const ticking = setInterval(tick, 1000);
  tick();
}

// --- going on

const CHANGED = "highwater-changed";

/** Loads the document again, which then shows what has become of it. */
function again() {
  sessionStorage.setItem(CHANGED, location.pathname);
  location.reload();
}

/** After an answer, here or elsewhere, what became of it comes into view, has the focus and is read out. */
function showOutcome() {
  const changed = sessionStorage.getItem(CHANGED) === location.pathname;
  sessionStorage.removeItem(CHANGED);
  const outcome = byId("outcome");
  if (!changed || !outcome) return;
  history.scrollRestoration = "manual";
  window.scrollTo(0, 0);
  outcome.scrollIntoView({ block: "nearest" });
  outcome.focus({ preventScroll: true });
}

/** Loads the document again when the gateway says that it has changed. */
function follow(path, shown) {
  const events = new EventSource(path);
  let first = shown;
  events.addEventListener("message", ({ data }) => {
    first ??= data;
    if (data !== first) {
      events.close();
      again();
    }
  });
}

// --- the documents

/** Lets a yes be given once the end of the arguments was in view: at once, where they fit. */
function whenRead(...buttons) {
  const [hint, end, answers] = [byId("hint"), byId("end"), document.querySelector(".answers")];
  const look = () => {
    const seen = end.getBoundingClientRect().top <= answers.getBoundingClientRect().top + 1;
    hint.hidden = seen;
    if (!seen) return;
    for (const button of buttons) button.disabled = false;
    for (const event of ["scroll", "resize"]) window.removeEventListener(event, look);
  };
  for (const event of ["scroll", "resize"]) window.addEventListener(event, look, { passive: true });
  look();
}

/** Signs one request, if it is the text that the page shows. */
async function signRequest(id, shown) {
  say("");
  // One request and nothing else between the press of the button and the passkey: some browsers insist.
  const envelope = await post(`/approve/${id}/challenge`);
  if (envelope.displayText !== shown) throw new Refused("the request is not what this page shows; load it again");
  say("Waiting for your passkey…");
  const response = await sign(envelope.requestOptions);
  await post(`/approve/${id}/assertion`, { challengeId: envelope.challengeId, response });
  say("Approved.", "good");
}

function requestPage() {
  const { id, state, signed } = document.querySelector("article").dataset;
  follow(`/approve/${id}/events`, `{"state":"${state}","signed":${signed}}`);
  countDown(again);
  showOutcome();

  const first = byId("approve") ?? byId("confirm");
  if (first) whenRead(first);
  document.querySelectorAll("input[name=remember]").forEach((choice) =>
    choice.addEventListener("change", () => {
      byId("scope").textContent = choice.parentElement.textContent.trim();
    }),
  );

  on("approve", "click", async () => {
    await signRequest(id, document.querySelector(".exact .display").textContent);
    again();
  });
  on("confirm", "click", async () => {
    const remember = document.querySelector("input[name=remember]:checked")?.value || null;
    await post(`/approve/${id}/confirm`, { remember });
    say("Allowed.", "good");
    again();
  });
  on("new-conversation", "click", async () => {
    await post(`/approve/${id}/new-conversation`);
    say("A new conversation has begun.", "good");
    again();
  });
  on("describe", "click", async () => {
    const answer = (name) => document.querySelector(`input[name=${name}]:checked`)?.value;
    if (!answer("strangers") || !answer("sends")) throw new Refused("please answer both questions");
    const said = await post(`/approve/${id}/describe`, {
      strangersWrite: answer("strangers") === "yes",
      sends: answer("sends") === "yes",
    });
    byId("described").hidden = true;
    say(`Kept: ${said.server} is ${said.profile}. This call still waits for your answer.`, "good");
  });
  on("decline", "click", async () => {
    await post(`/approve/${id}/decline`);
    say("Declined.");
    again();
  });
}

/** Several calls on one page. Each answer is sent for its own call. */
function bundlePage() {
  const rows = [...document.querySelectorAll(".call[data-state=pending]")];
  const ticked = () => rows.filter((row) => row.querySelector(".tick")?.checked);
  const events = new EventSource("/inbox/events");
  let first;
  events.addEventListener("message", ({ data }) => {
    first ??= data;
    if (data === first) return;
    // What somebody has ticked is not taken away from under their hand.
    if (ticked().length) return say("Something has changed meanwhile. Load this page again to see it.");
    events.close();
    return again();
  });
  countDown(again);
  showOutcome();
  if (!rows.length) return;
  const allow = byId("allow-ticked");
  whenRead(...(allow ? [allow] : document.querySelectorAll(".sign")));

  const answer = (act, value, done) => async () => {
    const chosen = ticked();
    if (!chosen.length) throw new Refused("tick the calls that you mean");
    events.close();
    let answered = 0;
    try {
      for (const row of chosen) {
        await post(`/approve/${row.dataset.id}/${act}`, value);
        answered += 1;
      }
    } catch (error) {
      if (!answered) throw error;
      throw new Refused(`${answered} of ${chosen.length} ${done}; of the next the gateway says: ${error.message}`);
    }
    again();
  };
  on("allow-ticked", "click", answer("confirm", { remember: null }, "allowed"));
  on("decline-ticked", "click", answer("decline", {}, "declined"));
  on("tick-all", "click", () => {
    rows.forEach((row) => (row.querySelector(".tick").checked = true));
    say(`${rows.length} ticked.`);
  });
  for (const row of rows) {
    const { id } = row.dataset;
    const button = (name) => row.querySelector(name)?.id;
    on(button(".sign"), "click", async () => {
      await signRequest(id, row.querySelector(".display").textContent);
      again();
    });
    on(button(".refuse"), "click", async () => {
      await post(`/approve/${id}/decline`);
      again();
    });
  }
}

function signInPage() {
  // Opened by a program of the operator's: nothing has to be typed. If it came too late, there are the usual ways.
  if (handed["sign-in"]) {
    post("/sign-in", { ticket: handed["sign-in"] }).then(
      () => location.reload(),
      (error) => say(words(error)),
    );
  }
  on("sign-in", "click", async () => {
    const { challengeId, requestOptions } = await post("/sign-in/challenge");
    say("Waiting for your passkey…");
    await post("/sign-in", { challengeId, response: await sign(requestOptions) });
    location.reload();
  });
  on("operator", "submit", async () => {
    await post("/sign-in", { token: byId("token").value });
    location.reload();
  });
}

/** Shows what is about to be signed that is not about a call, and signs it once the person has read it. */
function voucher(done) {
  let act;
  on("vouch-button", "click", async () => {
    const envelope = await post("/act/challenge", { act });
    if (envelope.displayText !== byId("vouch-text").textContent) {
      throw new Refused("this is not what the page shows; load it again");
    }
    say("Waiting for a passkey that counts already…");
    const response = await sign(envelope.requestOptions);
    await post("/act/assertion", { act, challengeId: envelope.challengeId, response });
    done();
  });
  return async (what) => {
    const { displayText, says } = await post("/act/challenge", { act: what });
    act = what;
    byId("vouch-says").textContent = `${says}.`;
    byId("vouch-text").textContent = displayText;
    byId("vouch").hidden = false;
    byId("vouch").scrollIntoView({ block: "center" });
    byId("vouch-heading").focus({ preventScroll: true });
    say("");
  };
}

function enrollPage() {
  const vouch = voucher(() => location.reload());
  /** A new passkey counts once the code says so, or else a passkey that counts already. */
  const confirm = async (id, code) => {
    if (!code) return vouch({ act: "confirm-key", id });
    await post("/enroll/code", { id, code });
    return location.reload();
  };
  on("enroll", "submit", async () => {
    const { ticket, options } = await post("/enroll/begin", { user: byId("user").value });
    say("Waiting for your device or key…");
    const name = byId("key-name")?.value ?? "";
    const { id } = await post("/enroll/finish", { ticket, response: await create(options), name });
    say("");
    await confirm(id, byId("code")?.value);
  });
  document.querySelectorAll(".confirm-key").forEach((button, at) => {
    button.id = `confirm-key-${at}`;
    on(button.id, "click", () => confirm(button.dataset.id, byId("code")?.value));
  });
  document.querySelectorAll(".rename").forEach((form, at) => {
    form.id = `rename-${at}`;
    on(form.id, "submit", async () => {
      await post("/act", { act: "rename-key", id: form.dataset.id, name: form.querySelector("input").value });
      location.reload();
    });
  });
  if (handed.enroll && byId("code")) {
    post("/enroll/ticket", { ticket: handed.enroll }).then(
      ({ code }) => {
        byId("code").value = code;
        byId("steps").hidden = true;
        byId("code-note").textContent = "Filled in by the program that opened this page.";
        document.querySelector("#enroll button").focus({ preventScroll: true });
      },
      () => say("The code was not filled in. Type the one that was printed."),
    );
  }
  on("alone", "submit", async () => {
    await post("/act", { act: "accept-one-passkey" });
    location.assign("/inbox");
  });
  // Whoever has just made the first hears that it is ready; the second is what comes next with the keyboard.
  const next = byId("second");
  if (next) {
    // A browser keeps the place of the page before, and the good news stands at the top.
    history.scrollRestoration = "manual";
    scrollTo(0, 0);
    byId("ready").focus({ preventScroll: true });
  }
}

function inboxPage() {
  follow("/inbox/events");
  countDown(() => location.reload());
  const vouch = voucher(() => location.reload());
  document.querySelectorAll(".act").forEach((button, at) => {
    button.id = `act-${at}`;
    on(button.id, "click", async () => {
      const act = JSON.parse(button.dataset.act);
      if (act.act === "cancel-reset") return vouch(act);
      await post("/act", act);
      return location.reload();
    });
  });
}

function numberOf(value) {
  const number = Number(value);
  if (value.trim() === "" || !Number.isFinite(number)) throw new Refused(`“${value}” is not a number`);
  return number;
}

/** One limit of an argument, as terms have it. */
function limit(kind, value) {
  switch (kind) {
    case "text":
      return { const: value };
    case "number":
      return { const: numberOf(value) };
    case "max":
      return { max: numberOf(value) };
    case "max_length":
      return { max_length: numberOf(value) };
    case "range": {
      const ends = value.split(" to ");
      if (ends.length !== 2) throw new Refused(`“${value}” is not two numbers with “to” between them`);
      const [min, max] = ends.map(numberOf);
      return { min, max };
    }
    case "enum":
      return { enum: value.split(",").map((one) => one.trim()) };
    case "prefix":
      return { prefix: value };
    default:
      try {
        return { const: JSON.parse(value) };
      } catch {
        throw new Refused(`“${value}” is not JSON`);
      }
  }
}

/** The terms that the form says. */
function termsOfForm() {
  const terms = { tools: byId("tools").value.split(",").map((tool) => tool.trim()), arguments: {} };
  for (const row of document.querySelectorAll(".limit")) {
    const [name, kind, value] = [".limit-name", ".limit-kind", ".limit-value"].map((part) => row.querySelector(part).value);
    if (name.trim()) terms.arguments[name.trim()] = limit(kind, value);
  }
  const now = Date.now();
  const at = (time) => new Date(time).toISOString();
  terms.max_calls = Number(byId("calls").value);
  terms.not_before = at(now - 1000);
  terms.expires = at(now - 1000 + Number(byId("hours").value) * 3600e3);
  terms.agent = byId("agent").value.trim();
  if (byId("tainted").checked) terms.while_tainted = true;
  return JSON.stringify(terms, null, 2);
}

function mandatePage() {
  // Behind the address, where it is sent to nobody.
  if (location.hash.length > 1) {
    byId("terms").value = new TextDecoder().decode(decode(location.hash.slice(1)));
    byId("written").open = true;
  }
  const vouch = voucher(() => say("Signed. The inbox shows it, and revokes it.", "good"));
  on("terms-form", "submit", () => {
    byId("terms").value = termsOfForm();
    return vouch({ act: "mandate", terms: byId("terms").value });
  });
  on("mandate", "submit", () => vouch({ act: "mandate", terms: byId("terms").value }));
}

writeTimes();
byId("sign-out")?.addEventListener("click", signInAgain);
const pages = {
  request: requestPage,
  bundle: bundlePage,
  "sign-in": signInPage,
  enroll: enrollPage,
  inbox: inboxPage,
  mandate: mandatePage,
};
pages[page]?.();
document.documentElement.dataset.ready = "yes";

import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FaultHook, READS } from '../../sandbox/router.ts';
import { volumeKey } from '../../sandbox/scheduler/volumes.ts';
import type { Response } from '../../sandbox/types.ts';
import type { ActionResult } from '../../src/act/execute-action.ts';
import { type ActionOutcome, type LedgerEntry, ledgerFile, listBlocking, toKey } from '../../src/act/ledger.ts';
import { scanLedger } from '../../src/act/ledger-chain.ts';
import type { Action, Plan } from '../../src/act/plan-file.ts';
import { planFile } from '../../src/act/plan-store.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/core/clock.ts';
import { acquireLock } from '../../src/warehouse/lock.ts';
import type { CliRun } from './cli.ts';
import { type PlaybookHarness, type RemoteState, restoreState } from './playbook-harness.ts';
import { createRandom } from './rate-simulation.ts';

/**
 * Commands, people and faults of a service in a random order, and what must hold whatever happens: nothing is sent that is not approved, each
 * action is sent at most once unless it was certainly not done, just after its subject was read as planned; the ledger only grows; and it says
 * of each action whether it was done, or may have been.
 */

type Services = PlaybookHarness['sandbox']['services'];

/** What the model knows of the subjects of a playbook, each of which one action of a plan changes. */
export interface ModelledPlaybook {
  readonly playbook: string;
  readonly kind: 'platform' | 'secrets' | 'scheduler';
  /** Sources beside those of its rule. */
  readonly sources?: readonly string[];
  /** Whether what was certainly not done may be sent again. */
  readonly isRepeatable: boolean;
  readonly isReversible: boolean;
  /** Differs between the subject as it was planned, as the action leaves it, and otherwise. */
  look(services: Services, subject: string): string;
  /** A person changes a subject to neither. */
  spoil(services: Services, subject: string): void;
}

const findPool = ({ platform }: Services, id: string) => platform.state.pools.find((pool) => pool.id === id)!;
const findAgent = ({ platform }: Services, id: string) => platform.state.agents.find((agent) => agent.id === id);
const findKey = ({ secrets }: Services, name: string) => secrets.state.keys.get(name)!;

const findVolume = ({ scheduler }: Services, id: string) => scheduler.state.volumes.get(volumeKey('default', id));

export const MODELLED: readonly ModelledPlaybook[] = [
  {
    playbook: 'scope-unused-pools',
    kind: 'platform',
    isRepeatable: true,
    isReversible: true,
    look: (services, id) => JSON.stringify([findPool(services, id).organizationScoped, findPool(services, id).allowed]),
    spoil: (services, id) => findPool(services, id).allowed.push('ws-other'),
  },
  {
    playbook: 'reap-dead-agents',
    kind: 'platform',
    isRepeatable: true,
    isReversible: false,
    look: (services, id) => findAgent(services, id)?.status ?? 'gone',
    spoil: (services, id) => Object.assign(findAgent(services, id) ?? {}, { status: 'busy' }),
  },
  {
    playbook: 'retire-old-key-versions',
    kind: 'secrets',
    isRepeatable: true,
    isReversible: true,
    look: (services, name) => {
      const { minEnabledVersion, versions, deletionAllowed } = findKey(services, name);
      return JSON.stringify([minEnabledVersion, versions.length, deletionAllowed]);
    },
    spoil: (services, name) => Object.assign(findKey(services, name), { deletionAllowed: true }),
  },
  {
    playbook: 'adopt-orphaned-volumes',
    kind: 'scheduler',
    sources: ['external_volumes'],
    isRepeatable: true,
    isReversible: true,
    look: (services, id) => findVolume(services, id)?.externalId ?? 'not registered',
    spoil: (services, id) => {
      const { volumes } = services.scheduler.state;
      const [other] = volumes.values();
      volumes.set(volumeKey('default', id), { ...other!, id, namespace: 'default', claims: [] });
    },
  },
  {
    playbook: 'rotate-old-keys',
    kind: 'secrets',
    isRepeatable: false,
    isReversible: false,
    look: (services, name) => String(findKey(services, name).versions.length),
    spoil: (services, name) =>
      Object.assign(findKey(services, name).versions.at(-1)!, { creationTime: '2026-09-30T00:00:00Z' }),
  },
];

export const subjectOf = ({ params }: Pick<Action, 'params'>): string =>
  String(params.id ?? params.name ?? params.volume_id);

/** What a service does with a change and answers, or what becomes of the apply then. */
type Answer = (typeof ANSWERS)[number];
const ANSWERS = [
  'done',
  'done',
  'done',
  'refused',
  'limited',
  'lost',
  'lost but done',
  'lost but done late',
  'accepted but not done',
  'accepted but done late',
  'killed before',
  'killed but done',
  'killed but done late',
] as const;

const REPLIES: Readonly<Record<string, Response>> = {
  done: { status: 200, body: '{"data": {}}' },
  refused: { status: 403, body: '{"errors": ["permission denied"]}' },
  limited: { status: 429, headers: { 'retry-after': '0' }, body: '{"errors": ["slow down"]}' },
  lost: { status: 504, body: 'upstream timed out' },
  accepted: { status: 200, body: '{"data": {}}' },
};

/** With these it is certain that nothing was done. */
const NOT_DONE: readonly Answer[] = ['refused', 'limited'];

interface Sent {
  readonly plan: string;
  readonly action: string;
  readonly subject: string;
  readonly isUndo: boolean;
  readonly answer: Answer;
  /** Of the ledger, when it was sent. */
  readonly lines: number;
  isDone: boolean;
}

interface Known {
  readonly plan: Plan;
  isApproved: boolean;
}

interface Applied {
  readonly rows: readonly ActionResult[];
  readonly stopped: object | null;
}

interface Night {
  readonly playbooks?: readonly { readonly plan: Plan | null; readonly applied: Applied | null }[];
}

function* reset(): Generator<string> {
  yield '{';
  throw new Error('reset');
}

export interface ModelStart {
  readonly place: PlaybookHarness;
  readonly modelled: ModelledPlaybook;
  readonly initial: RemoteState;
  /** How each subject looks as it is planned, and as its action leaves it. */
  readonly planned: ReadonlyMap<string, string>;
  readonly done: ReadonlyMap<string, string>;
}

export class ActModel {
  /** What happened, in words. */
  readonly trace: string[] = [];
  /** What did not hold. */
  readonly problems: string[] = [];
  readonly #start: ModelStart;
  readonly #random: () => number;
  readonly #sent: Sent[] = [];
  readonly #plans: Known[] = [];
  readonly #accepted = new Set<string>();
  /** Subjects that were as their action leaves them, at some time. */
  readonly #wasDone = new Set<string>();
  /** What services have yet to do. */
  readonly #late: (() => void)[] = [];
  readonly #ledger: string;
  readonly #stop: string;
  #nowMs: number;
  /** The plan that a command applies; `night` while a job may apply its own. */
  #applying: Known | 'night' | undefined;
  #ledgerText = '';
  #lastRead = '';
  /** The bytes of the ledger at the kill of the apply in progress, after which nothing reaches a service. */
  #killedAt: number | undefined;

  constructor(start: ModelStart, seed: number) {
    this.#start = start;
    this.#random = createRandom(seed);
    const data = join(start.place.folder, 'data');
    this.#ledger = ledgerFile(data);
    this.#stop = join(data, 'STOP');
    this.#nowMs = start.place.sandbox.now.getTime();
  }

  /** A plan that is approved, then so many random steps. */
  async run(steps: number): Promise<void> {
    await this.#plan();
    for (const known of this.#plans) await this.#approve(known);
    for (let count = 0; count < steps && this.problems.length === 0; count++) await this.#step();
  }

  readonly hook: FaultHook = (request) => {
    if (this.#killedAt !== undefined) return { status: 200, body: reset() };
    return READS.has(request.method) ? this.#read(request.path) : this.#write(request);
  };

  async #step(): Promise<void> {
    const dice = this.#random();
    const known = this.#pick(this.#plans);
    if (!known || dice < 0.08) await this.#plan();
    else if (dice < 0.14) await this.#approve(known);
    else if (dice < 0.6) await this.#apply(known);
    else if (dice < 0.72) await this.#undo(known);
    else if (dice < 0.8) await this.#tidemark(['playbook', 'ledger', '--settle']);
    else if (dice < 0.86) await this.#accept(this.#pick(known.plan.actions)!);
    else if (dice < 0.9) this.#nowMs += this.#pick([1, 5, 25])! * HOUR_MS;
    else if (dice < 0.95 && this.#start.modelled.isReversible) await this.#night();
    else this.#disturb('between commands', true);
    rmSync(this.#stop, { force: true });
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)];
  }

  #expect(holds: boolean, problem: string): void {
    if (!holds) this.problems.push(problem);
  }

  #look(subject: string): string {
    const state = this.#start.modelled.look(this.#start.place.sandbox.services, subject);
    if (state === this.#start.done.get(subject)) this.#wasDone.add(subject);
    return state;
  }

  #scan() {
    return scanLedger(existsSync(this.#ledger) ? readFileSync(this.#ledger, 'utf8') : '');
  }

  /** A person changes a subject, but not where it may be planned, or puts back all that was done; or what was sent earlier takes effect. */
  #disturb(when: string, mayChange = typeof this.#applying === 'object'): void {
    const { place, initial, modelled, planned } = this.#start;
    const chosen = this.#pick(['a late effect', 'a late effect', 'a late effect', 'a change', 'all is put back'])!;
    const what = chosen === 'a change' && !mayChange ? 'all is put back' : chosen;
    this.trace.push(`  ${when}: ${what}`);
    if (what === 'a late effect') this.#late.shift()?.();
    else if (what === 'a change') modelled.spoil(place.sandbox.services, this.#pick([...planned.keys()])!);
    else restoreState(place, initial);
    for (const subject of planned.keys()) this.#look(subject);
  }

  /** Between the reading that an action rests on and its request, which asks once more whether its subject exists. */
  #isDue(): boolean {
    const { records, lines } = this.#scan();
    const [intent, last] = [records.at(-1), this.#sent.at(-1)];
    return intent?.event === 'intent' && (last?.lines !== lines.length || last.answer === 'limited');
  }

  #read(path: string): Response | undefined {
    const subject = [...this.#start.planned.keys()].find((one) => `${decodeURIComponent(path)}/`.includes(`/${one}/`));
    if (subject !== undefined) {
      if (this.#random() < 0.08 && !this.#isDue()) this.#disturb(`before ${subject} is read`);
      this.#lastRead = subject;
      this.#look(subject);
    }
    if (this.#applying && this.#random() < 0.02) {
      this.trace.push('  STOP appears');
      writeFileSync(this.#stop, '');
    }
    if (this.#random() >= 0.06) return undefined;
    const status = this.#pick([401, 404])!;
    // After the service has accepted a deletion, "not found" is enough.
    const isAccepted = this.#sent.some((one) => one.subject === subject && one.answer.startsWith('accepted'));
    if (isAccepted && status === 404) return undefined;
    this.trace.push(`  GET ${path} is answered ${status}`);
    return { status, body: this.#pick(['{"errors": []}', '{"errors": [{"title": "not found"}]}'])! };
  }

  #write(request: Parameters<FaultHook>[0]): Response | undefined {
    const { records, lines } = this.#scan();
    const last = records.at(-1);
    const known = this.#applying === 'night' ? this.#readKept(last?.plan_id) : this.#applying;
    const action = known?.plan.actions.find(({ action_id }) => action_id === last?.action_id);
    const isIntended = last?.event === 'intent' && last.plan_id === known?.plan.plan_id;
    this.#expect(isIntended, `${request.path} is sent without an intent in the ledger`);
    if (!known || !action) return undefined;
    this.#checkWrite(request.path, known, action);
    const { plan_id: plan, undoes } = known.plan;
    const chosen = this.#pick(ANSWERS)!;
    // What a run has copied of the ledger is not lost with the ledger.
    const answer = this.#applying === 'night' && chosen.startsWith('killed') ? 'lost' : chosen;
    const isUndo = undoes !== undefined;
    const sent: Sent = {
      plan,
      action: action.action_id,
      subject: subjectOf(action),
      isUndo,
      answer,
      lines: lines.length,
      isDone: false,
    };
    this.#sent.push(sent);
    this.trace.push(`  ${request.method} ${sent.subject} for ${sent.action} of ${plan}: ${answer}`);
    if (answer.endsWith('late')) this.#late.push(() => this.#takeEffect(sent, request));
    else if (answer.endsWith('done') && answer !== 'accepted but not done') this.#takeEffect(sent, request);
    if (answer === 'limited' && this.#random() < 0.5) this.#disturb('while it waits');
    if (!answer.startsWith('killed')) return REPLIES[answer.split(' ')[0]!];
    this.#killedAt = readFileSync(this.#ledger).length;
    return { status: 200, body: reset() };
  }

  #takeEffect(sent: Sent, { method, path, query, body }: Parameters<FaultHook>[0]): void {
    const { modelled, place, planned, done } = this.#start;
    const at = place.sandbox.now.toISOString();
    place.sandbox.repeat({ kind: modelled.kind, method, path, query: query.toString(), body, at });
    sent.isDone = this.#look(sent.subject) === (sent.isUndo ? planned : done).get(sent.subject);
    const isAtOnce = !sent.answer.endsWith('late');
    this.#expect(sent.isDone || !isAtOnce, `${sent.action} leaves ${sent.subject} as ${this.#look(sent.subject)}`);
  }

  #checkWrite(path: string, { plan, isApproved }: Known, action: Action): void {
    const { planned, done, modelled } = this.#start;
    const subject = subjectOf(action);
    const isUndo = plan.undoes !== undefined;
    const state = this.#look(subject);
    const expected = (isUndo ? done : planned).get(subject);
    const name = `${action.action_id} of ${plan.plan_id} is sent,`;
    this.#expect(decodeURIComponent(path).includes(subject), `${name} for another subject: ${path}`);
    this.#expect(isApproved, `${name} not approved`);
    this.#expect(this.#nowMs < Date.parse(plan.expires_at), `${name} after its plan expired`);
    this.#expect(!existsSync(this.#stop), `${name} although STOP exists`);
    this.#expect(state === expected, `${name} where its subject is ${state} and not ${expected}`);
    this.#expect(this.#lastRead === subject, `${name} after ${this.#lastRead} was read`);
    this.#expect(isUndo || !this.#accepted.has(action.finding_id), `${name} although its finding is accepted`);
    const blocking = listBlocking(this.#scan().entries, new Date(this.#nowMs));
    for (const earlier of this.#sent.filter((one) => one.subject === subject && one.isUndo === isUndo)) {
      const isOther = earlier.plan !== plan.plan_id;
      const isOpen = blocking.some(
        ({ plan_id, action_id }) => plan_id === earlier.plan && action_id === earlier.action,
      );
      const mayRepeat =
        NOT_DONE.includes(earlier.answer) || (modelled.isRepeatable && /^(?:lost|killed)/u.test(earlier.answer));
      this.#expect(isOther ? !isOpen : mayRepeat, `${name} after ${earlier.plan} ${earlier.answer}`);
    }
  }

  /** The plan of a job, which approves it as it begins to apply it. */
  #readKept(planId = ''): Known | undefined {
    const file = planFile({ data: join(this.#start.place.folder, 'data') }, planId);
    if (!existsSync(file)) return undefined;
    const plan = JSON.parse(readFileSync(file, 'utf8')) as Plan;
    return { plan, isApproved: plan.approvals.length > 0 };
  }

  async #tidemark(words: readonly string[]): Promise<CliRun> {
    this.#nowMs += MINUTE_MS;
    const run = await this.#start.place.tidemark([...words, '--now', new Date(this.#nowMs).toISOString()]);
    this.trace.push(`${words.join(' ')}: ${run.exit} ${run.stderr.trim().split('\n').slice(-3).join(' | ')}`);
    this.#expect(run.exit !== 70, 'it failed in itself');
    const text = this.#scan().lines.map((line) => `${line.text}\n`);
    this.#expect(text.join('').startsWith(this.#ledgerText), 'the ledger does not continue what it was');
    this.#ledgerText = text.join('');
    return run;
  }

  /** Whether no subject is as a person has changed it, of which another plan could be made. */
  #isPlannable(): boolean {
    const { planned, done } = this.#start;
    return [...planned].every(([subject, state]) => [state, done.get(subject)].includes(this.#look(subject)));
  }

  async #plan(): Promise<void> {
    if (!this.#isPlannable()) return;
    const words = ['playbook', 'plan', this.#start.modelled.playbook, '--max-percent', '100', '--json'];
    const run = await this.#tidemark(words);
    if (run.exit !== 0) return;
    const plan = run.json<Plan>();
    const blocking = listBlocking(this.#scan().entries, new Date(this.#nowMs));
    for (const { finding_id } of plan.actions) {
      this.#expect(!this.#accepted.has(finding_id), `${finding_id} is planned, and accepted`);
      this.#expect(!blocking.some((open) => open.finding_id === finding_id), `${finding_id} is planned, and open`);
    }
    if (plan.actions.length > 0) this.#plans.push({ plan, isApproved: false });
  }

  async #approve(known: Known): Promise<void> {
    const words = ['playbook', 'approve', known.plan.plan_id, '--by', 'ops', '--irreversible'];
    if ((await this.#tidemark(words)).exit === 0) known.isApproved = true;
  }

  async #accept({ finding_id: id }: Action): Promise<void> {
    const words = ['findings', 'accept', id, '--reason', 'kept', '--owner', 'ops', '--until', '2027-01-01'];
    if ((await this.#tidemark(words)).exit === 0) this.#accepted.add(id);
  }

  /** A run holds the warehouse meanwhile: what a kill takes from the ledger was not copied. */
  async #apply(known: Known): Promise<void> {
    const { plan } = known;
    this.#applying = known;
    const lock = await acquireLock(join(this.#start.place.folder, 'data', 'lock'), 'a run');
    const words = ['playbook', 'apply', plan.plan_id, '--json', '--max-failures', this.#pick(['1', '99'])!];
    const run = await this.#tidemark(words).finally(() => lock.release());
    this.#applying = undefined;
    if (this.#killedAt !== undefined) this.#endKill(this.#killedAt);
    else if (run.stdout !== '') this.#checkApplied(plan, run.json<Applied>(), run.exit);
  }

  /** Nothing that followed the kill is on disk, except a part of the next line. */
  #endKill(bytes: number): void {
    const { length } = readFileSync(this.#ledger);
    const part = this.#random() < 0.3 ? Math.floor(this.#random() * 60) : 0;
    truncateSync(this.#ledger, Math.min(length, bytes + part));
    const { lines } = this.#scan();
    this.#ledgerText = lines.map(({ text }) => `${text}\n`).join('');
    this.#killedAt = undefined;
  }

  #checkApplied({ plan_id, actions, undoes }: Plan, { rows, stopped }: Applied, exit: number): void {
    const { entries } = this.#scan();
    const isFinal = rows.every(({ status }) => status === 'applied' || status === 'skipped');
    if (exit === 0) this.#expect(isFinal && rows.length === actions.length && !stopped, 'exit 0, and not all is final');
    for (const { action_id, status, reason } of rows) {
      this.trace.push(`  ${action_id} ${status}: ${reason}`);
      const subject = subjectOf(actions.find((action) => action.action_id === action_id)!);
      const own = this.#sent.filter((one) => one.plan === plan_id && one.action === action_id);
      if (status === 'applied' && undoes === undefined)
        this.#expect(own.length > 0 && this.#wasDone.has(subject), `${action_id} is applied, and was never done`);
      if (own.some(({ answer }) => !NOT_DONE.includes(answer)))
        this.#checkDoubt(entries.get(toKey({ plan_id, action_id })));
    }
  }

  /** An action that is not applied, and may have been done or may still take effect, keeps its ambiguous answer. */
  #checkDoubt(entry: LedgerEntry | undefined): void {
    const { status, answer, before, action_id } = entry as ActionOutcome;
    if (status !== 'failed' && status !== 'skipped') return;
    this.#expect(answer === 'ambiguous', `${action_id} is ${status}, and the ledger does not say that it may be done`);
    this.#expect(before !== null, `${action_id} is ${status}, and the ledger does not say what was there before`);
  }

  /** An undo plans, or names, what its plan did last to a subject that is still so. */
  async #undo({ plan }: Known): Promise<void> {
    const sent = this.#sent.length;
    const run = await this.#tidemark(['playbook', 'undo', plan.plan_id, '--json']);
    this.#expect(this.#sent.length === sent, 'an undo sends something');
    const isLast = (one: Sent) =>
      this.#sent.findLast(({ subject, isDone }) => isDone && subject === one.subject) === one;
    const own = this.#sent.filter((one) => one.plan === plan.plan_id && one.isDone && isLast(one));
    const left = own.filter(({ subject }) => this.#look(subject) === this.#start.done.get(subject));
    if (run.stderr.includes('no applied action')) this.#expect(left.length === 0, 'an undo denies what was done');
    if (run.stdout === '') return;
    const made = run.json<Plan>();
    this.#plans.push({ plan: made, isApproved: false });
    for (const { action, subject } of left) {
      const { finding_id } = plan.actions.find(({ action_id }) => action_id === action)!;
      const isSkipped = made.skipped.some((one) => one.finding_id === finding_id);
      this.#expect(isSkipped || made.actions.some((one) => subjectOf(one) === subject), `an undo forgets ${action}`);
    }
  }

  /** A job settles, plans, approves and applies. */
  async #night(): Promise<void> {
    if (!this.#isPlannable()) return;
    this.#nowMs += this.#pick([1, 12, 25])! * HOUR_MS;
    this.#applying = 'night';
    const run = await this.#tidemark(['run', 'nightly', '--json']);
    this.#applying = undefined;
    if (run.stdout === '') return;
    for (const { plan, applied } of run.json<Night>().playbooks ?? []) {
      if (plan && applied) this.#checkApplied(plan, applied, applied.stopped ? 1 : run.exit);
      const isKnown = this.#plans.some((one) => one.plan.plan_id === plan?.plan_id);
      if (plan && plan.actions.length > 0 && !isKnown) this.#plans.push({ plan, isApproved: applied !== null });
    }
  }
}

import { z } from 'zod';
import type { Target, Thresholds } from '../config/config.ts';
import type { FailureKind } from '../http/errors.ts';
import type { Operation, OperationArgs } from '../services/operation.ts';

/** The authoring API of playbooks: `defineAction` declares one guarded call, `definePlaybook` turns the findings of a rule into such calls. */

/** A value as plans and the ledger hold it. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** The values of parameters: each the input of a name, or the constant `is`. An input that is null is left out. */
export type ParameterSources = Readonly<Record<string, string | { readonly is: string | number | boolean }>>;

/** A read of the service: an operation of `tidemark api` that changes nothing. */
export interface GuardRead {
  readonly operation: string;
  readonly params: ParameterSources;
  /** Follows every page; the result is then the array of items. */
  readonly allPages?: true;
  /** Takes it as a result that the service rejects what the request says (400, 422). Every other failure says nothing about the subject. */
  readonly allowFailure?: true;
  /** Takes it as a result that a storage plugin cannot list: `found` is false, and what it has is unknown. @default the action stays pending */
  readonly mayBeUnlisted?: true;
  /** What proves that the subject is gone. @default nothing: "not found" leaves the action pending */
  readonly absence?: AbsenceEvidence;
}

/** Stands for the ID of an item that has none: a list with such an item proves no absence. */
export const NO_ID = '';

/**
 * A 404 may also mean that the token lost a permission or that a replica lags. Absence counts only if the list that would contain
 * the subject answers, lacks the subject, and contains at least half of the other items that the warehouse and the plan know.
 */
export interface AbsenceEvidence {
  /** The list, which is read when the subject is not found. @default the read itself is the list */
  readonly list?: Pick<GuardRead, 'operation' | 'params' | 'allPages'>;
  /** The IDs in the list, an empty text for an item without one that may be the subject of these inputs. */
  readonly listIds: (list: unknown, inputs: Readonly<Record<string, unknown>>) => readonly string[];
  /** The input that holds the ID of the subject. Nothing is verified where it is null. */
  readonly subject: string;
  /** The column of the warehouse that holds the other IDs; `within` restricts it to rows of one parent: column, input. */
  readonly known: { readonly table: string; readonly column: string; readonly within?: readonly [string, string] };
  /** Set where the list proves absence although no other item is known, because the action only adds one. */
  readonly provenWhenNoneKnown?: true;
}

/**
 * The result of a read: the body, or that the subject was not found. Another `failure` than `not-found` says why nothing is known: with
 * `allowFailure` or `mayBeUnlisted`, and in `plan`.
 */
export type ReadResult =
  | { readonly found: true; readonly value: unknown }
  | { readonly found: false; readonly failure: FailureKind; readonly message: string };
export type ReadResults<R extends string = string> = Readonly<Record<R, ReadResult>>;

/**
 * Whether an action applies to what was read. `ready`: the subject is as planned. `satisfied`: it is already as the action would
 * leave it. `drifted`: it is neither, so the action is skipped. `unknown`: the reading does not tell, so the action stays pending.
 */
export type Precondition =
  | { readonly state: 'ready' }
  | { readonly state: 'satisfied' | 'drifted' | 'unknown'; readonly reason: string };
export const preconditionSchema: z.ZodType<Precondition> = z.union([
  z.object({ state: z.literal('ready') }),
  z.object({ state: z.enum(['satisfied', 'drifted', 'unknown']), reason: z.string() }),
]);

export const ready: Precondition = { state: 'ready' };
/** `reason` is a clause in lower case, such as `the agent is gone`. */
export const satisfied = (reason: string): Precondition => ({ state: 'satisfied', reason });
/** `reason` is a clause in lower case, such as `its status is busy`. */
export const drifted = (reason: string): Precondition => ({ state: 'drifted', reason });
/** `reason` is a clause in lower case, such as `its agents are not reported`. */
export const unknown = (reason: string): Precondition => ({ state: 'unknown', reason });

/** One guarded call as a playbook declares it: data and pure functions of its inputs `I` and its observed state `S`. */
export interface ActionDeclaration<I, S extends JsonValue, R extends string> {
  /** An operation of `tidemark api` that changes something. */
  readonly operation: string;
  readonly params: ParameterSources;
  body?(inputs: I): unknown;
  /**
   * What `playbook show` compares: the part of the subject that changes, before and after the call; null where it does not exist.
   * @default the inputs and null for an operation with DELETE; otherwise nothing is compared
   */
  change?(inputs: I): Change;
  /** Sent just before the call, and again after it. */
  readonly reads: Readonly<Record<R, GuardRead>>;
  /** The part of the results that matters. The ledger keeps it as `before` and `after`: small, and without secrets. */
  observe(results: ReadResults<R>, inputs: I): S;
  evaluate(observed: S, inputs: I): Precondition;
  /**
   * Whether the observed state shows that the call took effect. `response` is that of the call.
   * @default `evaluate` returns `satisfied`
   */
  isConfirmed?(observed: S, inputs: I, response: unknown): boolean;
  /** Set where a read cannot show whether the call took effect: a call without a clear answer is then left to a person. */
  readonly notVerifiable?: true;
  /** Refusals that the service answers with a status that would leave the outcome open, and what to do instead. */
  readonly refusals?: readonly Refusal[];
  /** How `playbook undo` restores what the action changed. @default the action cannot be undone */
  readonly undo?: UndoDeclaration<I, S>;
}

/** What an action changes, as far as the plan knows it. It must not contain secrets. */
export interface Change {
  readonly before: unknown;
  readonly after: unknown;
}

/** A message of the service which means that nothing was done. */
interface Refusal {
  readonly message: RegExp;
  /** A sentence in lower case that names what works. */
  readonly advice: string;
}

/** How an applied action is undone. The ledger supplies `before` and `after`, the plan supplies the inputs of the action. */
export interface UndoDeclaration<I, S extends JsonValue> {
  readonly action: ActionDefinition;
  /** The fields of `before` and `after` that the restoring call needs, such as `before.rules`. */
  readonly needs: readonly string[];
  /** The inputs of the restoring action; a text says why the action cannot be undone. */
  inputs(applied: AppliedAction<I, S>): Inputs | string;
  /** What the restoring action does, in a clause. */
  summary(applied: AppliedAction<I, S>): string;
}

interface AppliedAction<I, S extends JsonValue> {
  readonly inputs: I;
  readonly before: S;
  readonly after: S;
  /** Whether the service's answer showed that it was applied. Otherwise readings alone did: what they show may be of someone else. */
  readonly isAnswered: boolean;
}

type Inputs = Readonly<Record<string, unknown>>;

/** An action as the engine runs it, with the types of inputs and observed state erased: its functions take what `schema` returns. */
export interface ActionDefinition extends ActionDeclaration<Inputs, JsonValue, string> {
  readonly schema: z.ZodType<Inputs>;
  readonly inputNames: readonly string[];
}

/** Declares an action. Every parameter, the body and the guard are computed from `inputs` alone, which the plan stores. */
export function defineAction<Shape extends z.ZodRawShape, S extends JsonValue, R extends string>(
  inputs: z.ZodObject<Shape>,
  declaration: ActionDeclaration<z.output<z.ZodObject<Shape>>, S, R>,
): ActionDefinition {
  const erased = declaration as unknown as ActionDeclaration<Inputs, JsonValue, string>;
  return { ...erased, schema: inputs, inputNames: Object.keys(inputs.shape) };
}

/** A finding as a playbook sees it; `detail` is the JSON object that its rule selects. */
export interface PlaybookFinding<D = unknown> {
  readonly finding_id: string;
  readonly target: string;
  readonly subject_id: string;
  readonly subject_name: string | null;
  readonly title: string;
  readonly detail: D;
}

/** One call to plan. */
export interface PlannedAction {
  readonly action: ActionDefinition;
  readonly inputs: Inputs;
  /** What it does, in a clause: `delete agent a-1 of pool edge`. */
  readonly summary: string;
  /** The ID of the row it changes; null where it adds one. @default the subjects of the findings */
  readonly affectedRow?: string | null;
}

/** Why nothing is planned for a finding. */
interface Skip {
  readonly skip: string;
}

export const skip = (reason: string): Skip => ({ skip: reason });

/** What planning may use. It can only read. */
export interface PlanContext {
  readonly target: Target;
  readonly thresholds: Thresholds;
  /** The time of the plan. */
  readonly now: Date;
  /** Reads the service; with `allPages`, every page of a list. @throws ServiceError, except for "not found". */
  read<O extends Operation>(
    operation: O,
    args: OperationArgs<O>,
    options?: { readonly allPages?: boolean },
  ): Promise<ReadResult>;
  /** Runs `queries/remediation/NAME.sql` over the warehouse; `$target` is bound. */
  query(name: string, params?: Readonly<Record<string, string>>): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

type Planned = readonly PlannedAction[] | Skip;

/** A playbook as the engine runs it. */
export interface Playbook {
  /** As in `tidemark playbook plan NAME`; the file has the same name. */
  readonly name: string;
  /** The rule whose findings it acts on: `queries/findings/RULE.sql`. */
  readonly rule: string;
  /** What it does, in a clause. */
  readonly description: string;
  /** The table whose rows `--max-percent` counts. */
  readonly table: string;
  readonly actions: readonly ActionDefinition[];
  /** Whether all findings of a target are planned together; otherwise one by one. */
  readonly perTarget: boolean;
  /** @throws ZodError for a finding whose detail is not what the playbook needs. */
  readonly plan: (findings: readonly PlaybookFinding[], context: PlanContext) => Promise<Planned>;
}

interface DeclaredInfo<D> extends Pick<Playbook, 'name' | 'rule' | 'description' | 'table'> {
  /** The schema of what it needs from a finding. */
  readonly detail: z.ZodType<D>;
}

/** One action per finding, whose inputs are the finding's detail. */
interface SingleAction<D> extends DeclaredInfo<D> {
  readonly action: ActionDefinition;
  summary(finding: PlaybookFinding<D>): string;
}

interface SeveralActions<D, Given> extends DeclaredInfo<D> {
  readonly actions: readonly ActionDefinition[];
  plan(given: Given, context: PlanContext): Planned | Promise<Planned>;
}

/** Any number of actions per finding. They form a chain: where one is not applied, those after it wait. */
type PerFinding<D> = SeveralActions<D, PlaybookFinding<D>> & { readonly perTarget?: undefined };
/** All findings of a target lead to one list of actions. */
type PerTarget<D> = SeveralActions<D, readonly PlaybookFinding<D>[]> & { readonly perTarget: true };

export function definePlaybook<D extends Inputs>(declaration: SingleAction<D>): Playbook;
export function definePlaybook<D extends Inputs>(declaration: PerTarget<D>): Playbook;
export function definePlaybook<D extends Inputs>(declaration: PerFinding<D>): Playbook;
export function definePlaybook(declaration: SingleAction<Inputs> | PerTarget<Inputs> | PerFinding<Inputs>): Playbook {
  const { name, rule, description, table, detail } = declaration;
  const plan: Playbook['plan'] = async (findings, context) => {
    const parsed = findings.map((finding) => ({ ...finding, detail: detail.parse(finding.detail) }));
    if ('action' in declaration) {
      const { action } = declaration;
      return parsed.map((finding) => ({ action, inputs: finding.detail, summary: declaration.summary(finding) }));
    }
    if (declaration.perTarget) return declaration.plan(parsed, context);
    const [finding] = parsed;
    return finding ? declaration.plan(finding, context) : [];
  };
  const actions = 'action' in declaration ? [declaration.action] : declaration.actions;
  const perTarget = 'perTarget' in declaration && declaration.perTarget === true;
  return { name, rule, description, table, actions, perTarget, plan };
}

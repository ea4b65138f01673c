import type { z } from 'zod';
import type { Target, Thresholds } from '../config/config.ts';
import type { Operation, OperationArgs } from '../services/operation.ts';
import type { GuardRead, JsonValue, ParameterSources, ReadResult, ReadResults } from './guard-reads.ts';
import type { Precondition } from './precondition.ts';

export type * from './guard-reads.ts';
export * from './precondition.ts';

/** The authoring API of playbooks: `defineAction` declares one guarded call, `definePlaybook` turns the findings of a rule into such calls. */

/** One guarded call as a playbook declares it: data and pure functions of its inputs `I` and its observed state `S`. */
export interface ActionDeclaration<I, S extends JsonValue, R extends string> {
  /** An operation of `tidemark api` that changes something. */
  readonly operation: string;
  readonly params: ParameterSources;
  readonly body?: (inputs: I) => unknown;
  /**
   * What `playbook show` compares: the part of the subject that changes, before and after the call; null where it does not exist.
   * @default the inputs and null for an operation with DELETE; otherwise nothing is compared
   */
  readonly change?: (inputs: I) => Change;
  /** Sent just before the call, and again after it. */
  readonly reads: Readonly<Record<R, GuardRead>>;
  /** The part of the results that matters. The ledger keeps it as `before` and `after`: small, and without secrets. */
  readonly observe: (results: ReadResults<R>, inputs: I) => S;
  readonly evaluate: (observed: S, inputs: I) => Precondition;
  /**
   * Whether the observed state shows that the call took effect. `response` is that of the call.
   * @default `evaluate` returns `satisfied`
   */
  readonly isConfirmed?: (observed: S, inputs: I, response: unknown) => boolean;
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
export interface Refusal {
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
  readonly inputs: (applied: AppliedAction<I, S>) => Readonly<Record<string, unknown>> | string;
  /** What the restoring action does, in a clause. */
  readonly summary: (applied: AppliedAction<I, S>) => string;
}

export interface AppliedAction<I, S extends JsonValue> {
  readonly inputs: I;
  readonly before: S;
  readonly after: S;
}

/** `UndoDeclaration` as the engine runs it. */
export interface UndoDefinition {
  readonly action: ActionDefinition;
  readonly needs: readonly string[];
  /** @returns the inputs and the summary of the restoring action, or why there is none. */
  readonly plan: (
    inputs: unknown,
    before: JsonValue,
    after: JsonValue,
  ) => { readonly inputs: Readonly<Record<string, unknown>>; readonly summary: string } | string;
}

/** The evaluated result of a guard's reads. */
export interface Observation {
  readonly observed: JsonValue;
  readonly precondition: Precondition;
  /** Whether the call that returned `response` shows in what was observed. */
  readonly isConfirmed: (response: unknown) => boolean;
}

/** An action as the engine runs it, with the types of inputs and observed state erased. */
export interface ActionDefinition {
  readonly operation: string;
  readonly params: ParameterSources;
  readonly reads: Readonly<Record<string, GuardRead>>;
  readonly notVerifiable: boolean;
  readonly refusals: readonly Refusal[];
  readonly undo: UndoDefinition | undefined;
  readonly hasBody: boolean;
  readonly inputNames: readonly string[];
  /** @throws ZodError where an input is missing or of another type. */
  readonly parseInputs: (given: unknown) => Readonly<Record<string, unknown>>;
  readonly isValidInput: (given: unknown) => boolean;
  /** @throws ZodError as `parseInputs`. */
  readonly buildBody: (inputs: unknown) => unknown;
  /** What the action changes; undefined where the playbook does not declare it. @throws ZodError as `parseInputs`. */
  readonly describeChange: (inputs: unknown) => Change | undefined;
  /** @throws ZodError as `parseInputs`. */
  readonly observe: (results: ReadResults, inputs: unknown) => Observation;
}

/** Declares an action. Every parameter, the body and the guard are computed from `inputs` alone, which the plan stores. */
export function defineAction<Shape extends z.ZodRawShape, S extends JsonValue, R extends string>(
  inputs: z.ZodObject<Shape>,
  declaration: ActionDeclaration<z.output<z.ZodObject<Shape>>, S, R>,
): ActionDefinition {
  const { operation, params, body, change, reads, observe, evaluate, isConfirmed, undo } = declaration;
  const { notVerifiable = false, refusals = [] } = declaration;
  return {
    operation,
    params,
    reads,
    notVerifiable,
    refusals,
    undo: undo && defineUndo(inputs, undo),
    hasBody: body !== undefined,
    inputNames: Object.keys(inputs.shape),
    parseInputs: (given) => inputs.parse(given),
    isValidInput: (given) => inputs.safeParse(given).success,
    buildBody: (given) => body?.(inputs.parse(given)),
    describeChange: (given) => change?.(inputs.parse(given)),
    observe: (results, given) => {
      const parsed = inputs.parse(given);
      const observed = observe(results as ReadResults<R>, parsed);
      const precondition = evaluate(observed, parsed);
      return {
        observed,
        precondition,
        isConfirmed: (response) => isConfirmed?.(observed, parsed, response) ?? precondition.state === 'satisfied',
      };
    },
  };
}

function defineUndo<Shape extends z.ZodRawShape, S extends JsonValue>(
  schema: z.ZodObject<Shape>,
  { action, needs, inputs, summary }: UndoDeclaration<z.output<z.ZodObject<Shape>>, S>,
): UndoDefinition {
  return {
    action,
    needs,
    plan: (given, before, after) => {
      const applied = { inputs: schema.parse(given), before: before as S, after: after as S };
      const restored = inputs(applied);
      return typeof restored === 'string' ? restored : { inputs: restored, summary: summary(applied) };
    },
  };
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
  readonly inputs: Readonly<Record<string, unknown>>;
  /** What it does, in a clause: `delete agent a-1 of pool edge`. */
  readonly summary: string;
  /** The ID of the row it changes; null where it adds one. @default the subjects of the findings */
  readonly affectedRow?: string | null;
}

/** Why nothing is planned for a finding. */
export interface Skip {
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

interface PlaybookInfo {
  /** As in `tidemark playbook plan NAME`; the file has the same name. */
  readonly name: string;
  /** The rule whose findings it acts on: `queries/findings/RULE.sql`. */
  readonly rule: string;
  /** What it does, in a clause. */
  readonly description: string;
  /** The table whose rows `--max-percent` counts. */
  readonly table: string;
}

/** A playbook as the engine runs it. */
export interface Playbook extends PlaybookInfo {
  readonly actions: readonly ActionDefinition[];
  /** Whether all findings of a target are planned together; otherwise one by one. */
  readonly perTarget: boolean;
  /** @throws ZodError for a finding whose detail is not what the playbook needs. */
  readonly plan: (findings: readonly PlaybookFinding[], context: PlanContext) => Promise<Planned>;
}

/** One action per finding, whose inputs are the finding's detail. */
interface SingleAction<D> {
  readonly action: ActionDefinition;
  readonly summary: (finding: PlaybookFinding<D>) => string;
}

/** Any number of actions per finding. They form a chain: where one is not applied, those after it wait. */
interface PerFinding<D> {
  readonly actions: readonly ActionDefinition[];
  readonly perTarget?: undefined;
  readonly plan: (finding: PlaybookFinding<D>, context: PlanContext) => Planned | Promise<Planned>;
}

/** All findings of a target lead to one list of actions. */
interface PerTarget<D> {
  readonly actions: readonly ActionDefinition[];
  readonly perTarget: true;
  readonly plan: (findings: readonly PlaybookFinding<D>[], context: PlanContext) => Planned | Promise<Planned>;
}

type Detail = Readonly<Record<string, unknown>>;

interface Declared<D> extends PlaybookInfo {
  /** The schema of what it needs from a finding. */
  readonly detail: z.ZodType<D>;
}

export function definePlaybook<D extends Detail>(declaration: Declared<D> & SingleAction<D>): Playbook;
export function definePlaybook<D>(declaration: Declared<D> & PerTarget<D>): Playbook;
export function definePlaybook<D>(declaration: Declared<D> & PerFinding<D>): Playbook;
export function definePlaybook({
  detail,
  ...playbook
}: Declared<Detail> & (SingleAction<Detail> | PerTarget<Detail> | PerFinding<Detail>)): Playbook {
  const parse = (finding: PlaybookFinding) => ({ ...finding, detail: detail.parse(finding.detail) });
  if ('action' in playbook) {
    const { action, summary, ...info } = playbook;
    const planOne = (finding: PlaybookFinding<Detail>) => {
      return { action, inputs: finding.detail, summary: summary(finding) };
    };
    return { ...info, actions: [action], perTarget: false, plan: async (findings) => findings.map(parse).map(planOne) };
  }
  if (playbook.perTarget) {
    const { plan, ...info } = playbook;
    return { ...info, plan: async (findings, context) => plan(findings.map(parse), context) };
  }
  const { plan, ...info } = playbook;
  const planFirst: Playbook['plan'] = async ([finding], context) => (finding ? plan(parse(finding), context) : []);
  return { ...info, perTarget: false, plan: planFirst };
}

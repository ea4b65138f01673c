import { quoteLiteral } from '../../src/warehouse/sql-files.ts';

interface Version {
  readonly target: string;
  readonly name: string;
  readonly value: number;
  readonly from: number;
  to?: number;
}

const TARGETS = ['a', "b's", 'c', 'd/%2F'];
const FIRST_MS = Date.UTC(2026, 0, 1, 2, 15);
const DAY_MS = 86_400_000;

export const nightTime = (night: number) => new Date(FIRST_MS + night * DAY_MS).toISOString();

/** Random nights of metrics and findings, some of which are left out, as SQL for a warehouse, beside plain lists that keep the truth. */
export class MetricNights {
  readonly #random: () => number;
  readonly #versions: Version[] = [];
  readonly #findings = new Map<string, string>();
  /** The last one that has passed. */
  night = 0;
  /** Of all findings, in all nights. */
  events = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  get versions(): number {
    return this.#versions.length;
  }

  pass(): readonly string[] {
    this.night += this.#random() < 0.15 ? 1 + this.#below(6) : 1;
    return TARGETS.flatMap((target) => this.#pull(target));
  }

  rowsAt(night: number) {
    const valid = this.#versions.filter(({ from, to }) => from <= night && (to === undefined || to > night));
    return valid.map(({ target, name, value }) => ({ target, name, value }));
  }

  states() {
    return [...this.#findings].map(([finding_id, state]) => ({ finding_id, state }));
  }

  #pull(target: string): readonly string[] {
    const fate = this.#random();
    if (fate < 0.08) return [];
    const [time, status] = [quoteLiteral(nightTime(this.night)), fate < 0.2 ? 'failed' : 'complete'];
    const recorded = `insert into pulls by name select strftime(timestamptz ${time}, '%Y%m%dT%H%M%SZ') as run_id, ${quoteLiteral(target)} as target,
      'autoscaler_metrics' as source, '${status}' as status, timestamptz ${time} as as_of, as_of as started_at`;
    if (status === 'failed') return [recorded];
    const names = new Set([this.#below(8), this.#below(8), this.#below(8)]);
    const changes = [...names].flatMap((name) => this.#change(target, `k${name}`, time));
    return [recorded, ...changes, ...this.#judge(target, time)];
  }

  #change(target: string, name: string, time: string): readonly string[] {
    const value = this.#random() < 0.3 ? undefined : this.#below(5);
    const held = this.#versions.find((one) => one.target === target && one.name === name && one.to === undefined);
    if (held?.value === value) return [];
    if (held) held.to = this.night;
    if (value !== undefined) this.#versions.push({ target, name, value, from: this.night });
    const row = `${quoteLiteral(target)} as target, 'gauge' as kind, '${name}' as name, ${value}::double as value`;
    return [
      `update autoscaler_metrics_history set valid_to = ${time} where target = ${quoteLiteral(target)} and name = '${name}' and valid_to is null`,
      ...(value === undefined
        ? []
        : [`insert into autoscaler_metrics_history by name select ${row}, ${time}::timestamptz as valid_from`]),
    ];
  }

  /** A finding of the target begins, ends or comes again. */
  #judge(target: string, time: string): readonly string[] {
    const id = `f-${target}-${this.#below(3)}`;
    const before = this.#findings.get(id);
    const state = before === 'open' ? 'resolved' : 'open';
    const reason = { open: 'gone', resolved: 'reopened', none: 'found' }[before ?? 'none'];
    this.#findings.set(id, state);
    this.events++;
    const named = `${quoteLiteral(id)} as finding_id, ${quoteLiteral(target)} as target, 'r' as rule, 'warning' as severity, '${state}' as state`;
    return [
      before
        ? `update findings set state = '${state}', last_seen = ${time}, opened_at = if('${state}' = 'open', ${time}, opened_at) where finding_id = ${quoteLiteral(id)}`
        : `insert into findings by name select ${named}, 's' as subject_type, 's' as subject_id, 't' as title, ${time}::timestamptz as first_seen,
            first_seen as last_seen, first_seen as opened_at, 0 as times_reopened`,
      `insert into finding_events by name select ${named}, ${time}::timestamptz as changed_at, '${reason}' as reason`,
    ];
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

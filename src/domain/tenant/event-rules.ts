import { Map } from 'immutable';
import type { EventRefund, EventReward } from '../program.js';

/**
 * Names of a program's event rules. Limits and rewards refer to rules by name, so a rule keeps its
 * name from version to version at any place in the file; names are assigned when a program is
 * applied and are part of the event.
 * A rule continues one of the previous version that pays the same side for the same key, by the
 * first match of: condition and reward; condition; reward; the only rule left of that side and key
 * in both. A removed rule that returns unchanged keeps its name: the file was most likely restored,
 * and an exhausted limit must stay exhausted. Any other rule gets a name that the program never
 * used. Codes of a pool do not distinguish rules: pools are refilled.
 */
export interface EventRuleDocument extends ConditionDocument {
  readonly to: EventReward['to'];
  readonly reward: object;
}

export interface ConditionDocument {
  readonly key?: string;
  readonly firstTimeOnly?: boolean;
  readonly minimum?: { readonly field: string; readonly value: number };
  /** Not part of the condition: a changed refund makes no other rule. */
  readonly refund?: EventRefund;
}

/** A program file as applied and validated; parsed when terms are needed. */
export type ProgramDocument = Readonly<Record<string, unknown>> & { readonly id: string };

export const eventRulesOf = (document: ProgramDocument): readonly EventRuleDocument[] =>
  (document as { readonly eventRewards?: readonly EventRuleDocument[] }).eventRewards ?? [];

/** The last applied form of each rule that the program ever had, by name. */
export type KnownRules = Map<string, string>;

export function rulesAfter(
  known: KnownRules,
  document: ProgramDocument,
  names: readonly string[],
): KnownRules {
  return eventRulesOf(document).reduce(
    (rules, rule, index) => rules.set(names[index] ?? '', JSON.stringify(ruleTraits(rule))),
    known,
  );
}

/** The names of the document's rules, in its order. @param before the previous version. */
export function nameEventRules(
  document: ProgramDocument,
  before: { readonly eventRules: readonly string[]; readonly knownRules: KnownRules } | undefined,
): readonly string[] {
  const known = before?.knownRules ?? Map<string, string>();
  const current = new Set(before?.eventRules);
  const candidates = [...known].map(([name, text]) => ({
    name,
    isCurrent: current.has(name),
    ...(JSON.parse(text) as RuleTraits),
  }));
  const rules = eventRulesOf(document).map((rule): RuleTraits & { name?: string } =>
    ruleTraits(rule),
  );
  const used = new Set<string>();
  const free = (kind: string) =>
    candidates.filter((candidate) => candidate.kind === kind && !used.has(candidate.name));
  const claim = (
    isSame: (rule: RuleTraits, candidate: (typeof candidates)[number]) => boolean,
  ): void => {
    for (const rule of rules.filter(({ name }) => name === undefined)) {
      const found = free(rule.kind).find((candidate) => isSame(rule, candidate));
      if (!found) continue;
      rule.name = found.name;
      used.add(found.name);
    }
  };
  const isLast = ({ kind }: RuleTraits): boolean =>
    rules.filter((rule) => rule.kind === kind && rule.name === undefined).length === 1 &&
    free(kind).filter(({ isCurrent }) => isCurrent).length === 1;
  claim((a, b) => b.isCurrent && a.condition === b.condition && a.reward === b.reward);
  claim((a, b) => b.isCurrent && a.condition === b.condition);
  claim((a, b) => b.isCurrent && a.reward === b.reward);
  claim((a, b) => b.isCurrent && isLast(a));
  claim((a, b) => a.condition === b.condition && a.reward === b.reward);
  return rules.map(({ name, kind }) => {
    const given =
      name ?? unusedName(kind, (candidate) => known.has(candidate) || used.has(candidate));
    used.add(given);
    return given;
  });
}

function unusedName(kind: string, isUsed: (name: string) => boolean): string {
  let name = kind;
  for (let number = 2; isUsed(name); number++) name = `${kind}/${number}`;
  return name;
}

interface RuleTraits {
  /** Side and key; the first rule of a kind has it as its name. */
  readonly kind: string;
  readonly condition: string;
  readonly reward: string;
}

function ruleTraits({
  to,
  key = '',
  firstTimeOnly = false,
  minimum,
  reward,
}: EventRuleDocument): RuleTraits {
  const members = Object.entries(reward)
    .filter(([name]) => name !== 'fuelTankCodes')
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    kind: `eventRewards/${to}/${key}`,
    condition: JSON.stringify([firstTimeOnly, minimum ? [minimum.field, minimum.value] : null]),
    reward: JSON.stringify(members),
  };
}

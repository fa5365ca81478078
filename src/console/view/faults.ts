import { TooLittleCredit } from '../../operations/ledger/correction-preview.js';
import { NotDone, linesOf } from '../../operations/outcome.js';
import { ThemeNotDone } from '../../operations/themes/theme-commands.js';
import type { Wrong } from './field.js';
import { ownMember } from '../../domain/own-member.js';

/** Why a page's form was refused: lines for its head, and which of them belong to a field. */
export interface Faults {
  readonly problems: readonly string[];
  readonly wrong: Wrong;
}

export const NO_FAULTS: Faults = { problems: [], wrong: {} };

/**
 * How the fields of a form are called, where it is not as the members of a request are: by the
 * member, or by the beginning of a line about it.
 */
export type FieldNames = Readonly<Record<string, string>>;

/** Of a refused outcome; none: it is done. */
export function faultsOf(outcome: unknown, fields: FieldNames = {}): Faults {
  if (!(outcome instanceof NotDone)) return NO_FAULTS;
  const problems = problemsOf(outcome);
  const members = outcome.about.map((member) => [
    ownMember(fields, member) ?? member,
    problems[0] ?? '',
  ]);
  if (members.length === 0) return faultsIn(problems, fields);
  return { problems, wrong: Object.fromEntries(members) as Wrong };
}

/** Of lines; at a field without their beginnings, and what belongs to none at the head only. */
export function faultsIn(problems: readonly string[], fields: FieldNames): Faults {
  const wrong: Record<string, string> = {};
  for (const line of problems) {
    const [start = '', id] = Object.entries(fields).find(([one]) => line.startsWith(one)) ?? [];
    if (id === undefined) continue;
    wrong[id] ??= line.slice(start.length).trim() || 'It is missing.';
  }
  return { problems, wrong };
}

/** Of a correction that was refused. @param text writes an amount of its unit. */
export const faultsOfCorrection = (refused: NotDone, text: (amount: number) => string): Faults =>
  refused instanceof TooLittleCredit
    ? faultAt(
        'amount',
        `${text(refused.asked)} is more than the available ${text(refused.available)}.`,
      )
    : faultsOf(refused);

/** One fault, of one field; null: of none. */
export const faultAt = (id: string | null, problem: string): Faults => ({
  problems: [problem],
  wrong: id === null ? {} : { [id]: problem },
});

/** An account that a form names and that there is not. */
export const noAccount = (id: string): Faults =>
  faultAt(
    'account',
    `No account has the id ${id}. The search at the top finds it by the customer's name.`,
  );

/** Those of both. */
export const withFaults = (one: Faults, other: Faults): Faults => ({
  problems: [...one.problems, ...other.problems],
  wrong: { ...other.wrong, ...one.wrong },
});

/** One line for each reason of a refusal, with members named as fields are labelled. */
function problemsOf(outcome: NotDone): readonly string[] {
  const themeFaults = outcome instanceof ThemeNotDone ? outcome.theme.details : undefined;
  if (themeFaults !== undefined && themeFaults.length > 0) return themeFaults;
  return linesOf(outcome.reasons, (member) => ownMember(LABELS, member) ?? member).map(
    inPlainWords,
  );
}

/** A line without kinds of actors, ISO times, and codes in place of a sentence. */
const inPlainWords = (line: string): string =>
  line
    .replace(
      /^(?:refused: )?([A-Z]+(?:_[A-Z]+)*)$/,
      (_, code: string) =>
        `${code.slice(0, 1)}${code.slice(1).toLowerCase().replaceAll('_', ' ')}.`,
    )
    .replaceAll(/\b(?:operator|cli):(?=\S)/g, '')
    .replaceAll(/\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*Z/g, '$1 $2 UTC');

/** Labels of fields that several pages have, by the member of a request that each fills. */
const LABELS: Readonly<Record<string, string>> = {
  account: 'Account',
  user: 'User',
  unit: 'Unit',
  amount: 'Amount',
  reason: 'Reason',
  asOf: 'As of',
  position: 'Position',
  from: 'From',
  to: 'To',
  period: 'Month',
  locale: 'Locale',
  since: 'Since',
  endpoint: 'Endpoint',
};

import {
  ASSISTANT,
  PROGRAM_FORM,
  type ProgramTexts,
} from '../../operations/tenants/program-form.js';

import type { Option } from './field.js';
import { TEXTS } from '../texts.js';

interface OptionView {
  readonly value: string;
  readonly words: string;
  readonly isChosen: boolean;
}

/** A field of the form for a program. */
export interface FieldView {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  /** Null: any text. */
  readonly inputMode: string | null;
  /** Null: no choice. */
  readonly options: readonly Option[] | null;
}

export interface GroupView {
  readonly title: string;
  readonly fields: readonly FieldView[];
}

/** A question of the assistant. */
export interface QuestionView {
  readonly name: string;
  readonly legend: string;
  readonly options: readonly OptionView[];
}

export const fieldGroups = (texts: ProgramTexts): readonly GroupView[] =>
  PROGRAM_FORM.map(({ title, fields }) => ({
    title,
    fields: fields.map(({ name, label, options, isNumber = false }) => ({
      name,
      label,
      value: texts[name] ?? '',
      inputMode: isNumber ? 'numeric' : null,
      options: options?.map(([value, words]) => ({ value, words })) ?? null,
    })),
  }));

const LEGENDS = {
  friend: TEXTS.program.friendGets,
  referrer: TEXTS.program.referrerGets,
  when: TEXTS.program.referrerWhen,
} as const;

export const questions = (choices: Readonly<Record<string, string>>): readonly QuestionView[] =>
  (['friend', 'referrer', 'when'] as const).map((name) => ({
    name,
    legend: LEGENDS[name],
    options: optionViews(ASSISTANT[name], choices[name] || ASSISTANT[name][0][0]),
  }));

const optionViews = (
  options: readonly (readonly [value: string, words: string])[],
  chosen: string,
): readonly OptionView[] =>
  options.map(([value, words]) => ({ value, words, isChosen: value === chosen }));

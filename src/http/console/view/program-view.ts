import {
  ASSISTANT,
  fieldOf,
  PROGRAM_FORM,
  type ProgramTexts,
} from '../../../operations/tenants/program-form.js';

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
  readonly isNumber: boolean;
  /** Null: any text. */
  readonly options: readonly OptionView[] | null;
  /** What is wrong with it; null: nothing. */
  readonly wrong: string | null;
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

/** @param problems lines of the schema, each beginning with a path. */
export const fieldGroups = (
  texts: ProgramTexts,
  problems: readonly string[],
): readonly GroupView[] =>
  PROGRAM_FORM.map(({ title, fields }) => ({
    title,
    fields: fields.map(({ name, label, path, options, isNumber = false }) => {
      const value = texts[name] ?? '';
      const problem = problems.find((line) => fieldOf(line)?.name === name);
      return {
        name,
        label,
        value,
        isNumber,
        options: options === undefined ? null : optionViews(options, value),
        wrong: problem === undefined ? null : problem.slice(path.length + 1),
      };
    }),
  }));

const LEGENDS = {
  friend: 'What does the invited friend get?',
  referrer: 'What does the referrer get?',
  when: 'When does the referrer get it?',
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

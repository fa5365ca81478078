import type { Readable } from 'node:stream';
import type { UnitFormat } from '../../domain/tenant/unit-settings.js';
import { ownMember } from '../../domain/own-member.js';
import { programsOf } from '../../domain/tenant/program-document.js';
import { CustomerReads } from '../../operations/customers/lists/customer-lists.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import { applyProgram, programIn } from '../../operations/tenants/apply-program.js';
import {
  FIELDS_BY_LINES,
  assistedProgram,
  documentWith,
  PROGRAM_FORM,
  textsOf,
} from '../../operations/tenants/program-form.js';
import type { ProgramForecast } from '../../operations/tenants/program-forecast.js';
import { forecast } from '../../operations/tenants/program.operations.js';
import { tenantNamed } from '../../operations/tenants/tenant-operation.js';
import type { ProgramDocument } from '../../domain/tenant/tenant.decider.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormFor, TenantPage } from '../console-routes.js';
import type { Form } from '../sessions/form.js';
import { changedLines } from '../view/changed-lines.js';
import { faultAt, faultsOf, type FieldNames, type Faults } from '../view/faults.js';
import { fileOf, tablesOf } from '../view/page-tables.js';
import {
  fieldGroups,
  forecastColumns,
  PROGRAM_COLUMNS,
  programTexts,
  questions,
  SPANS,
} from '../view/program-view.js';
import type { ShownAmount } from '../view/shown-amounts.js';
import { amountText, template } from '../view/templates.js';
import { digestOfText, isJsonView, jsonOf, jsonText } from '../view/typed-document.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';

const content = template('program');

/** A program that an operator edits. */
interface Edited {
  /** Empty: the default one. */
  readonly id: string;
  /** Undefined: the live version. */
  readonly text?: string;
  readonly faults?: Faults;
  readonly compares?: boolean;
  readonly choices?: Readonly<Record<string, string>>;
}

/** For support: the programs of a tenant. */
@TenantPage('program')
export class ConsoleProgramController {
  constructor(
    private readonly pages: TenantPages,
    private readonly reads: CustomerReads,
  ) {}

  @FilePageFor('support')
  async page(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const asked = queried(call.query, 'program', 'friend', 'referrer', 'when', 'run');
    const { program: id, run, ...choices } = asked;
    const forecasted = run === '' ? undefined : (await this.pages.run(call, run))?.parameters;
    const candidate: unknown = forecasted && Reflect.get(forecasted, 'program');
    if (typeof candidate === 'object' && candidate !== null)
      return this.shown(call, { id, text: jsonText(candidate), compares: true });
    const { defaultProgramId } = await tenantNamed(this.pages.core, call.scope.tenant);
    const assisted = assistedProgram(id || (defaultProgramId ?? ''), choices);
    if (assisted === undefined) return this.shown(call, { id, choices });
    return this.shown(call, { id: assisted.id, text: jsonText(assisted), choices, compares: true });
  }

  @FormFor('support')
  async change(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const answer = await this.changed(call);
    // For the part of the page that is fetched while an operator types.
    if (call.form.text('live') !== '') void call.reply.code(200);
    return answer;
  }

  private async changed(call: TenantCall): Promise<string | Readable> {
    const { form } = call;
    const { units } = await tenantNamed(this.pages.core, call.scope.tenant);
    const { text, faults } = typedIn(form, units.formats);
    if (faults !== undefined) return this.shown(call, { id: idIn(text), text, faults });
    const program = await outcomeOf(() => programIn(text));
    if (program instanceof NotDone)
      return this.shown(call, { id: idIn(text), text, faults: faultsOfProgram(program) });
    const compared = { id: program.id, text, compares: true };
    const action = form.text('live') === '' ? form.text('action') : 'check';
    if (action === 'forecast') return this.forecast(call, program);
    if (action !== 'publish') return this.shown(call, compared);
    if (form.text('compared') !== digestOfText(text))
      return this.shown(call, { ...compared, faults: faultAt(null, LOOK_FIRST) });
    const expected = Number(form.text('version'));
    const outcome = await this.pages.recorded(call, 'program apply', async (core, meta) => {
      const result = await applyProgram(core, meta, { program, expected });
      const parameters = { program: program.id, version: result.version };
      return { result, parameters, completed: `version ${result.version} is applied` };
    });
    if (outcome instanceof NotDone)
      return this.shown(call, { ...compared, faults: faultsOfProgram(outcome) });
    return redirected(call, pathOf(call, { program: program.id }), 'applied');
  }

  /** A run that compares the candidate with the live program; of a new one, with the default. */
  private async forecast(call: TenantCall, program: ProgramDocument): Promise<string> {
    const { tenant, mode } = call.scope;
    const { programs, defaultProgramId } = await tenantNamed(this.pages.core, tenant);
    const live = ownMember(programs, program.id) ? program.id : (defaultProgramId ?? undefined);
    const since = SPANS.find(({ value }) => value === call.form.text('since'))?.value ?? '90d';
    const request = { tenant, mode, program, since, live };
    const run = await this.pages.startedRun(call, forecast, request);
    return redirected(call, pathOf(call, { program: program.id, run }));
  }

  private async shown(call: TenantCall, edited: Edited): Promise<string | Readable> {
    const { faults, choices = {} } = edited;
    const { form } = call;
    const tenant = await tenantNamed(this.pages.core, call.scope.tenant);
    const known = programsOf(tenant);
    const id = edited.id || (tenant.defaultProgramId ?? '');
    const version = known.find((program) => program.id === id)?.version ?? 0;
    const document = ownMember(tenant.programs, id)?.document;
    const live = document === undefined ? '' : jsonText(document);
    const text = edited.text ?? live;
    const isCompared = edited.compares === true;
    const money = await this.pages.moneyOfAll(call.ledger);
    const amount: ShownAmount = (value, unit) => amountText(value, unit, money);
    const { run } = queried(call.query, 'run');
    const path = `${call.tenantPath}/program`;
    const tables = tablesOf(call, path, { program: id, run });
    const listed = known.map((program) => ({
      ...program,
      name: program.name ?? program.id,
      path: pathOf(call, { program: program.id }),
    }));
    const programs = tables({ ...PROGRAMS, rows: listed, columns: PROGRAM_COLUMNS });
    const { values, refresh, forecasted } = await this.forecasted(call, run);
    const columns = forecastColumns(amount, call.tenantPath);
    const rules = tables({ ...RULES, rows: forecasted?.rules ?? [], columns: columns.rules });
    const accounts = tables({
      ...ACCOUNTS,
      rows: forecasted?.accounts ?? [],
      columns: columns.accounts,
    });
    const file = fileOf(programs, rules, accounts);
    if (file) return file;
    const isJson = isJsonView(form);
    return sendPage(call, { of: 'program', faults, ...refresh }, content, {
      path,
      programs: programs.view,
      id,
      version,
      text,
      isJson,
      view: isJson ? 'json' : 'form',
      compared: isCompared ? digestOfText(text) : '',
      isFirst: known.every((program) => program.version <= 1) && edited.choices !== undefined,
      questions: questions(choices),
      groups: fieldGroups(textsOf(jsonOf(text)), {
        typed: (name) => form.text(name),
        formats: tenant.units.formats,
        amount,
      }),
      hasCompared: isCompared,
      changes: isCompared ? changedLines(live, text) : [],
      spans: SPANS,
      since: form.text('since') || '90d',
      ...values,
      here: pathOf(call, { program: id, run }),
      forecast: forecasted && { ...forecasted, rules: rules.view, accounts: accounts.view },
    });
  }

  /** The forecast of a run, with a name for each account: names are on record. */
  private async forecasted(call: TenantCall, run: string) {
    const { values, refresh, resultOf } = await this.pages.runOfPage(call, run);
    const result = resultOf<ProgramForecast>('program forecast');
    if (result === null) return { values, refresh, forecasted: null };
    await this.pages.viewed(call, 'forecast', () => ({ run }));
    const accounts = await Promise.all(
      result.accounts.map(async (row) => ({ ...row, person: await this.personOf(call, row) })),
    );
    return { values, refresh, forecasted: { ...result, accounts } };
  }

  private async personOf(
    { ledger }: TenantCall,
    { account }: { readonly account: string },
  ): Promise<string | null> {
    const order = { sort: 'accountId', descending: false } as const;
    const request = { filters: { text: account }, ...order, limit: 50, offset: 0 };
    const { rows } = await this.reads.accounts.page(ledger, request);
    return rows.find(({ accountId }) => accountId === account)?.people.join(', ') || null;
  }
}

const PROGRAMS = {
  label: 'Programs',
  name: 'programs',
  empty: { text: 'Programs appear here when they are published.' },
};
const RULES = {
  label: 'Rules',
  name: 'rules',
  empty: { text: 'Neither program grants a reward.' },
};
const ACCOUNTS = {
  label: 'Accounts',
  name: 'accounts',
  empty: { text: 'No account would have another amount.' },
};

const LOOK_FIRST = 'Read the difference to the live version below, then publish again.';

const pathOf = ({ tenantPath }: TenantCall, query: Readonly<Record<string, string>>): string =>
  `${tenantPath}/program${queryOf(query)}`;

/** The text of the document; that of the form with what its fields say. */
function typedIn(form: Form, formats: readonly UnitFormat[]): { text: string; faults?: Faults } {
  const text = form.text('document');
  const document = jsonOf(text);
  if (document === undefined) return { text };
  if (form.text('view') !== 'form') return { text: jsonText(document) };
  const names = PROGRAM_FORM.flatMap(({ fields }) => fields).map(({ name }) => name);
  const typed = Object.fromEntries(names.map((name) => [name, form.text(name)]));
  const read = programTexts(typed, formats);
  return 'faults' in read
    ? { text, faults: read.faults }
    : { text: jsonText(documentWith(document, read.texts)) };
}

/** Lines of the schema begin with a path. */
const BY_LINES: FieldNames = { ...FIELDS_BY_LINES, 'not JSON:': 'document' };

/** What belongs to no field is wrong in the document. */
function faultsOfProgram(outcome: NotDone): Faults {
  const faults = faultsOf(outcome, BY_LINES);
  const fields = Object.keys(BY_LINES);
  const [other] = faults.problems.filter((line) => !fields.some((start) => line.startsWith(start)));
  return other === undefined
    ? faults
    : { ...faults, wrong: { ...faults.wrong, document: faults.wrong['document'] ?? other } };
}

/** Of a document that its schema refuses. */
function idIn(text: string): string {
  const document: unknown = jsonOf(text);
  const id: unknown =
    typeof document === 'object' && document !== null ? Reflect.get(document, 'id') : undefined;
  return typeof id === 'string' ? id : '';
}

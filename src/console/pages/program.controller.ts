import type { Scope } from '../../domain/scope.js';
import { programsOf } from '../../domain/tenant/program-document.js';
import { applyProgram, programIn } from '../../operations/tenants/apply-program.js';
import {
  FIELDS_BY_LINES,
  assistedProgram,
  documentWith,
  PROGRAM_FORM,
  textsOf,
  type ProgramTexts,
} from '../../operations/tenants/program-form.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import type { Form } from '../sessions/form.js';
import { faultAt, faultsOf, type FieldNames, type Faults } from '../view/faults.js';
import { changedLines } from '../view/changed-lines.js';
import { fieldGroups, questions } from '../view/program-view.js';
import { template } from '../view/templates.js';
import { digestOfText, jsonOf, jsonText } from '../view/typed-document.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { ownMember } from '../../domain/own-member.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';

const content = template('program');

/** What a page shows of a program that somebody edits. */
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
  constructor(private readonly pages: TenantPages) {}

  @PageFor('support')
  async page(@TenantCall() call: TenantCall): Promise<string> {
    const { program: id, ...choices } = queried(
      call.query,
      'program',
      'friend',
      'referrer',
      'when',
    );
    const assisted = assistedProgram(id || (await this.defaultIdOf(call.scope)), choices);
    if (assisted === undefined) return this.shown(call, { id, choices });
    const text = jsonText(assisted);
    return this.shown(call, { id: assisted.id, text, choices, compares: true });
  }

  @FormFor('support')
  async apply(@TenantCall() call: TenantCall): Promise<string> {
    const answer = await this.applied(call);
    // For a script that asks while somebody types: a browser reports other answers as errors.
    if (call.form.text('live') !== '') void call.reply.code(200);
    return answer;
  }

  private async applied(call: TenantCall): Promise<string> {
    const { form } = call;
    const text = typedIn(form);
    const program = await outcomeOf(() => programIn(text));
    const typed = program instanceof NotDone ? idIn(text) : program.id;
    const edited = { id: typed, text };
    if (program instanceof NotDone)
      return this.shown(call, { ...edited, faults: faultsOfProgram(program) });
    const compared = { ...edited, compares: true };
    if (areBothChanged(form))
      return this.shown(call, {
        ...compared,
        faults: faultAt('document', TEXTS.program.bothChanged),
      });
    const applies = form.text('action') === 'apply' && form.text('live') === '';
    if (!applies) return this.shown(call, compared);
    if (form.text('compared') !== digestOfText(text))
      return this.shown(call, { ...compared, faults: faultAt(null, TEXTS.program.lookFirst) });
    const expected = Number(form.text('version'));
    const outcome = await this.pages.recorded(call, 'program apply', async (core, meta) => {
      const result = await applyProgram(core, meta, { program, expected });
      const parameters = { program: program.id, version: result.version };
      return { result, parameters, completed: `version ${result.version} is applied` };
    });
    if (outcome instanceof NotDone)
      return this.shown(call, { ...compared, faults: faultsOfProgram(outcome) });
    const path = `${call.tenantPath}/program${queryOf({ program: program.id })}`;
    return redirected(call, path, 'applied');
  }

  private async defaultIdOf({ tenant }: Scope): Promise<string> {
    return (await this.pages.core.tenants.find(tenant))?.defaultProgramId ?? '';
  }

  private async shown(call: TenantCall, edited: Edited): Promise<string> {
    const { faults, choices = {} } = edited;
    const tenant = await this.pages.core.tenants.find(call.scope.tenant);
    const known = tenant === undefined ? [] : programsOf(tenant);
    const id = edited.id || (tenant?.defaultProgramId ?? '');
    const version = known.find((program) => program.id === id)?.version ?? 0;
    const document = tenant && ownMember(tenant.programs, id)?.document;
    const live = document === undefined ? '' : jsonText(document);
    const text = edited.text ?? live;
    const isCompared = edited.compares === true;
    const by = call.form.text('live') !== '' && countsFields(call.form) ? 'fields' : 'document';
    const path = `${call.tenantPath}/program`;
    return pageSent(call, { of: 'program', faults }, content, {
      programs: known.map((program) => ({
        id: program.id,
        version: program.version,
        isDefault: program.isDefault,
        path: `${path}${queryOf({ program: program.id })}`,
      })),
      id,
      version,
      text,
      was: digestOfDocument(text),
      // Fields that somebody types into stay as they are.
      fieldsWere: digestOfFields(by === 'fields' ? textsIn(call.form) : textsOf(jsonOf(text))),
      by,
      compared: isCompared ? digestOfText(text) : '',
      isFirst: version <= 1 && edited.choices !== undefined,
      questions: questions(choices),
      groups: fieldGroups(textsOf(jsonOf(text))),
      hasCompared: isCompared,
      changes: isCompared ? changedLines(live, text) : [],
    });
  }
}

/** The text of the document; with what the fields say, unless the text was changed. */
function typedIn(form: Form): string {
  const text = form.text('document');
  const document = jsonOf(text);
  if (document === undefined) return text;
  return jsonText(countsFields(form) ? documentWith(document, textsIn(form)) : document);
}

const countsFields = (form: Form): boolean =>
  form.text('fields') !== '' && form.text('was') === digestOfDocument(form.text('document'));

/** However it is laid out. */
function digestOfDocument(text: string): string {
  const document = jsonOf(text);
  return digestOfText(document === undefined ? text : jsonText(document));
}

/** What is in the fields is lost then. */
function areBothChanged(form: Form): boolean {
  const fieldsWere = form.text('fields');
  return (
    fieldsWere.length === DIGEST_LENGTH &&
    fieldsWere !== digestOfFields(textsIn(form)) &&
    form.text('was') !== digestOfDocument(form.text('document'))
  );
}

const DIGEST_LENGTH = digestOfText('').length;

/** Browsers send a text of one line without its line ends. */
const digestOfFields = (texts: ProgramTexts): string =>
  digestOfText(
    JSON.stringify(
      PROGRAM_FORM.flatMap(({ fields }) => fields).map(({ name }) =>
        (texts[name] ?? '').replace(/[\r\n]/g, '').trim(),
      ),
    ),
  );

const textsIn = (form: Form): ProgramTexts =>
  Object.fromEntries(
    PROGRAM_FORM.flatMap(({ fields }) => fields).map(({ name }) => [name, form.text(name)]),
  );

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
  const id: unknown = textMember(jsonOf(text), 'id');
  return typeof id === 'string' ? id : '';
}

const textMember = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined;

import type { Readable } from 'node:stream';
import {
  HISTORY_MAX,
  putTheme,
  rollBackTheme,
  showTheme,
  showThemeHistory,
  type ShownThemeVersion,
} from '../../operations/themes/theme-commands.js';
import { themeWith } from '../../operations/themes/theme-preview.js';
import { isMembers } from '../../themes/merge-members.js';
import { THEME_VARIABLES } from '../../themes/theme-instance.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormAt, FormFor, TenantPage } from '../console-routes.js';
import type { Form } from '../sessions/form.js';
import { countCell, textCell, timeCell } from '../view/cells.js';
import { changedLines } from '../view/changed-lines.js';
import { faultsIn, faultsOf, NO_FAULTS, withFaults, type Faults } from '../view/faults.js';
import { tablesOf } from '../view/page-tables.js';
import { column, type TableColumn } from '../view/table.js';
import { template } from '../view/templates.js';
import {
  THEME_FIELDS,
  THEME_PARTS,
  themeFields,
  themePart,
  unknownAtFields,
  valuesWith,
} from '../view/theme-form.js';
import { faultsPage, sendPreview, samplePart } from '../view/theme-preview.js';
import { isJsonView, jsonOf, jsonText } from '../view/typed-document.js';
import { given, queryOf, TenantPages } from './tenant-pages.js';
import { NotDone, notDoneAbout, type Outcome, outcomeOf } from '../../operations/outcome.js';
import type { LocalizedTheme } from '../../themes/themes.js';

const content = template('theme');

/** For support: the theme of a tenant. */
@TenantPage('theme')
export class ConsoleThemeController {
  constructor(private readonly pages: TenantPages) {}

  @FormFor('support')
  async change(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const { form } = call;
    const [locale, action] = [form.text('locale'), form.text('action')];
    if (action !== 'put' && action !== 'rollback') {
      const isTyped = form.all('values').length > 0;
      const faults = isTyped ? faultsOfTheme(await this.typedTheme(call)) : NO_FAULTS;
      const answer = await this.page(call, faults, action === 'check');
      // For the part of the page that is fetched while an operator types.
      if (form.text('live') !== '') void call.reply.code(200);
      return answer;
    }
    const faults = await this.changed(call, locale || null);
    if (faults.problems.length > 0) return this.page(call, faults);
    return redirected(call, `${call.tenantPath}/theme${queryOf({ locale })}`, 'published');
  }

  /** For the frame of the page: it shows what was typed, and stores nothing. */
  @FormAt('preview', 'support')
  async preview(@TenantCall() call: TenantCall): Promise<string> {
    const made = await this.typedTheme(call);
    if (made instanceof NotDone) return sendPreview(call, faultsPage(faultsOf(made).problems));
    return sendPreview(call, samplePart(themePart(call.form.text('part')), made, call.scope));
  }

  /** The theme with what was typed. */
  private typedTheme({ form, scope }: TenantCall): Promise<Outcome<LocalizedTheme>> {
    const locale = form.text('locale') || null;
    return outcomeOf(() => themeWith(this.pages.core, scope, { locale, values: typedIn(form) }));
  }

  /** The faults in what was typed; none: it is done. */
  private async changed(call: TenantCall, locale: string | null): Promise<Faults> {
    const { form } = call;
    const version = Number(form.text('version'));
    if (form.text('action') === 'rollback')
      return faultsOf(
        await this.pages.recorded(call, 'theme rollback', (core, meta) =>
          rollBackTheme(core, meta, { locale, version }),
        ),
      );
    return faultsOfTheme(
      await this.pages.recorded(call, 'theme put', (core, meta) =>
        putTheme(core, meta, { locale, values: typedIn(form), expected: version }),
      ),
    );
  }

  @FilePageFor('support')
  async page(
    @TenantCall() call: TenantCall,
    refused = NO_FAULTS,
    isCompared = false,
  ): Promise<string | Readable> {
    const { core } = this.pages;
    const { form, scope } = call;
    const asked = given(call, 'locale', 'part');
    const part = themePart(asked.part);
    const locale = asked.locale || null;
    const stored = await outcomeOf(() => showTheme(core, scope, { locale }));
    const history = await outcomeOf(() =>
      showThemeHistory(core, scope, { locale, limit: Math.min(50, HISTORY_MAX) }),
    );
    const unread = stored instanceof NotDone ? stored : history;
    const versions = history instanceof NotDone ? [] : history;
    const path = `${call.tenantPath}/theme`;
    const { view, file } = tablesOf(call, path, { locale: asked.locale, part })({
      label: 'Versions',
      rows: versions,
      columns: VERSION_COLUMNS,
      empty: NO_VERSION,
    });
    if (file) return file;
    const published = jsonText(stored instanceof NotDone ? {} : stored);
    const text = typedText(form) ?? published;
    const values = jsonOf(text);
    const isJson = isJsonView(form);
    const faults = withFaults(refused, faultsOf(unread, { values: 'locale' }));
    const unknown = unknownAtFields(values);
    return sendPage(
      call,
      { of: 'theme', faults: { ...faults, wrong: { ...unknown, ...faults.wrong } } },
      content,
      {
        path,
        locale: asked.locale,
        version: versions[0]?.version ?? 0,
        values: text,
        isJson,
        view: isJson ? 'json' : 'form',
        part,
        parts: THEME_PARTS,
        fields: themeFields(part, values),
        variables: THEME_VARIABLES.map((name) => `{{${name}}}`),
        unknown: Object.entries(unknown).map(([path, said]) => ({ path, text: said })),
        hasCompared: isCompared,
        changes: isCompared ? changedLines(published, text) : [],
        history: view,
        versions: versions.map(({ version }) => String(version)),
      },
    );
  }
}

const NO_JSON = 'The variables are not JSON, or nested too deep.';
const NO_VERSION = {
  text: 'Versions appear here when they are published. Until then the texts are built in.',
};

/** Undefined: the form has no values, as the one that rolls back. */
function typedText(form: Form): string | undefined {
  if (form.all('values').length === 0) return undefined;
  const typed = valuesIn(form);
  return typed === undefined ? form.text('values') : jsonText(typed);
}

/** The values that were typed; undefined: they are not JSON. */
function valuesIn(form: Form): unknown {
  const values = jsonOf(form.text('values'));
  if (form.text('view') !== 'form' || !isMembers(values)) return values;
  return valuesWith(themePart(form.text('was')), values, form);
}

/** The values that were typed. @throws {NotDone} */
function typedIn(form: Form): unknown {
  const values = valuesIn(form);
  if (values === undefined) throw notDoneAbout('values', NO_JSON);
  return values;
}

/** At the fields of the form and, for the JSON, in one line. */
function faultsOfTheme(outcome: unknown): Faults {
  const { problems, wrong } = faultsOf(outcome);
  return { problems, wrong: { ...wrong, ...faultsIn(problems, THEME_FIELDS).wrong } };
}

const VERSION_COLUMNS: readonly TableColumn<ShownThemeVersion>[] = [
  column('version', ({ version }) => countCell(version)),
  column('published', ({ created }) => timeCell(created)),
  column('operator', ({ by }) => textCell(by)),
  column(['change', 'minor'], ({ removed, restores }) =>
    textCell(removed ? 'Removed' : restores ? `Rolled back to version ${restores}` : 'Published'),
  ),
];

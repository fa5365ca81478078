import { HttpCode, Post } from '@nestjs/common';
import {
  HISTORY_MAX,
  putTheme,
  rollBackTheme,
  showTheme,
  showThemeHistory,
} from '../../operations/themes/theme-commands.js';
import { pageWith } from '../../operations/themes/theme-preview.js';
import { unknownNames } from '../../themes/unknown-names.js';
import {
  FormFor,
  ForRoles,
  PageFor,
  pageSent,
  redirected,
  TenantCall,
  TenantPage,
} from '../console-call.js';
import { faultAt, faultsOf, NO_FAULTS, withFaults, type Faults } from '../view/faults.js';
import { template } from '../view/templates.js';
import { changedLines } from '../view/changed-lines.js';
import { faultsPage, previewSent, sampleSharePage } from '../view/theme-preview.js';
import { jsonOf, jsonText } from '../view/typed-document.js';
import { given, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';

const UNKNOWN_SHOWN = 50;
const VERSIONS_SHOWN = Math.min(50, HISTORY_MAX);

const content = template('theme');

/** For support: the theme of a tenant. */
@TenantPage('theme')
export class ConsoleThemeController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('support')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('support')
  async change(@TenantCall() call: TenantCall): Promise<string> {
    const { form } = call;
    const locale = form.text('locale');
    if (form.text('action') === 'check') {
      const values = jsonOf(form.text('values'));
      if (values === undefined) return this.shown(call, faultAt('values', NO_JSON));
      const asked = { locale: locale || null, values };
      const faults = faultsOf(await outcomeOf(() => pageWith(this.pages.core, call.scope, asked)));
      return this.shown(call, faults, true);
    }
    const faults = await this.changed(call);
    if (faults.problems.length > 0) return this.shown(call, faults);
    return redirected(call, `${call.tenantPath}/theme${queryOf({ locale })}`, 'published');
  }

  /** For the frame of the page: it shows what was typed, and stores nothing. */
  @Post('preview')
  @HttpCode(200)
  @ForRoles('support')
  async preview(@TenantCall() call: TenantCall): Promise<string> {
    const { form } = call;
    const asked = { locale: form.text('locale') || null, values: jsonOf(form.text('values')) };
    if (asked.values === undefined) return previewSent(call, faultsPage([NO_JSON]));
    const made = await outcomeOf(() => pageWith(this.pages.core, call.scope, asked));
    if (made instanceof NotDone) return previewSent(call, faultsPage(faultsOf(made).problems));
    return previewSent(call, sampleSharePage(made));
  }

  /** The faults in what was typed; none: it is done. */
  private async changed(call: TenantCall): Promise<Faults> {
    const { form } = call;
    const locale = form.text('locale') || null;
    const version = Number(form.text('version'));
    if (form.text('action') === 'rollback')
      return faultsOf(
        await this.pages.recorded(call, 'theme rollback', (core, meta) =>
          rollBackTheme(core, meta, { locale, version }),
        ),
      );
    const values = jsonOf(form.text('values'));
    if (values === undefined) return faultAt('values', NO_JSON);
    return faultsOf(
      await this.pages.recorded(call, 'theme put', (core, meta) =>
        putTheme(core, meta, { locale, values, expected: version }),
      ),
    );
  }

  private async shown(call: TenantCall, refused = NO_FAULTS, isCompared = false): Promise<string> {
    const { core } = this.pages;
    const asked = given(call, 'locale');
    const locale = asked.locale || null;
    // The form that rolls back has no values.
    const typed = call.form.all('values').length === 0 ? undefined : call.form.text('values');
    const values = await outcomeOf(() => showTheme(core, call.scope, { locale }));
    const history = await outcomeOf(() =>
      showThemeHistory(core, call.scope, { locale, limit: VERSIONS_SHOWN }),
    );
    const unread = values instanceof NotDone ? values : history;
    const faults = withFaults(refused, faultsOf(unread, { values: 'locale' }));
    const versions = history instanceof NotDone ? [] : history;
    const published = jsonText(values instanceof NotDone ? {} : values);
    const shown = typed === undefined ? values : jsonOf(typed);
    return pageSent(call, { of: 'theme', faults }, content, {
      locale: asked.locale,
      version: versions[0]?.version ?? 0,
      values: typed ?? published,
      previewPath: `${call.tenantPath}/theme/preview`,
      unknown: unknownNames(shown)
        .slice(0, UNKNOWN_SHOWN)
        .map(({ path, names }) => ({ path, names: names.join(', ') })),
      hasCompared: isCompared,
      changes: isCompared ? changedLines(published, jsonText(jsonOf(typed ?? ''))) : [],
      history: versions,
    });
  }
}

const NO_JSON = TEXTS.theme.noJson;

import { themesProjector } from '../../projections/themes/projector.js';
import type { ThemeRow } from '../../projections/themes/table.js';
import type { ThemeEvent } from '../../src/domain/theme/theme.decider.js';
import { anAccount } from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';

const SOMEWHERE = anAccount('acme');
const published = (over: object = {}): ThemeEvent => ({
  type: 'ThemePublished',
  at: 1_000,
  change: 0,
  locale: null,
  version: 1,
  before: null,
  by: null,
  opening: null,
  values: { b: 1, a: 'x' },
  bytes: 15,
  restores: null,
  ...over,
});
const REMOVED: ThemeEvent = {
  type: 'ThemeRemoved',
  at: 2_000,
  change: 2,
  locale: 'fr_CA',
  version: 2,
  before: 1,
  by: null,
  opening: null,
};
const row = (over: Partial<ThemeRow> = {}): ThemeRow => ({
  tenant: 'demo',
  mode: 'live',
  locale: '',
  version: 1,
  own_values: '{"b":1,"a":"x"}',
  ...over,
});

describeProjector(themesProjector, (given) => {
  test('each locale has a row with its newest values, as they were written', () =>
    given(
      SOMEWHERE,
      published(),
      published({ locale: 'fr_CA', change: 1 }),
      published({ change: 2, version: 2, values: { c: 3 } }),
    ).then({
      themes: [row({ version: 2, own_values: '{"c":3}' }), row({ locale: 'fr_CA' })],
    }));

  test('removed values have none', () =>
    given(SOMEWHERE, published(), published({ locale: 'fr_CA', change: 1 }), REMOVED).then({
      themes: [row()],
    }));

  test('values that were removed are published again', () =>
    given(
      SOMEWHERE,
      published({ locale: 'fr_CA' }),
      REMOVED,
      published({ locale: 'fr_CA', change: 3, version: 3 }),
    ).then({ themes: [row({ locale: 'fr_CA', version: 3 })] }));
});

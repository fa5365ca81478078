/** Limits of a user's fields in requests and imports. */

export const CUSTOM_FIELDS_MAX = 100;
export const SEGMENTS_MAX = 1000;

/** Spelled out by script: readers of the API description may not support \p{L}. */
const LETTER =
  '[A-Za-z\\u00c0-\\u024f\\u0370-\\u052f\\u0531-\\u06ff\\u0904-\\u0e7f\\u10a0-\\u10ff\\u3040-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7a3]';
export const EMAIL = `[^\\s@].*@(?:[^\\s@.]+\\.)+(?:${LETTER}{2,}|[Xx][Nn]--[A-Za-z0-9-]+)`;
const ADDRESS = new RegExp(`^${EMAIL}$`, 'u');

export const isEmail = (text: string): boolean => [...text].length <= 320 && ADDRESS.test(text);

export function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text) && new URL(text).hostname !== '';
}

export const isFieldName = (name: string): boolean => /^[A-Za-z0-9_]{1,64}$/.test(name);

export const isFieldValue = (value: unknown): value is string | number | boolean =>
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isFinite(value)) ||
  (typeof value === 'string' && [...value].length <= 1024);

export const isSegment = (text: string): boolean =>
  [...text].length <= 256 && /^[^\p{Cc}]+$/u.test(text);

/** ISO 3166-1 alpha-2. */
export const COUNTRIES: readonly string[] = `
  AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS
  BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE
  EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM
  HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC
  LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
  NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
  SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO
  TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`
  .trim()
  .split(/\s+/);
const KNOWN: ReadonlySet<string> = new Set(COUNTRIES);

export const isCountry = (text: string): boolean => KNOWN.has(text);

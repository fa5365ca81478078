import type { Argument, OperationRefusal } from './outcome.js';

/**
 * The members of a request that a refusal is about, named as over HTTP.
 * @returns none where it is about the whole request, or about what was there before it.
 */
export function membersOf(refusal: OperationRefusal): readonly Argument[] {
  if ('argument' in refusal) return [refusal.argument];
  switch (refusal.code) {
    case 'TENANT_NOT_FOUND':
      return ['tenant'];
    case 'ACCOUNT_NOT_FOUND':
    case 'REPAIRED_ACCOUNT_NOT_FOUND':
      return ['account'];
    case 'TIME_AND_POSITION':
    case 'TENANT_STATEMENT_BY_DAYS':
      return ['asOf', 'position'];
    case 'POSITION_UNKNOWN':
    case 'POSITION_BEYOND_HEAD':
      return ['position'];
    case 'PERIOD_MALFORMED':
    case 'PERIOD_NOT_BEGUN':
    case 'PERIOD_NOT_CHANGED':
      return ['period'];
    case 'BALANCES_WITHOUT_HEAD':
    case 'BALANCES_NOT_CSV':
    case 'BALANCE_MALFORMED':
    case 'BALANCE_REPEATED':
      return ['balances'];
    case 'NOT_ADJUSTED':
      return adjusted(refusal);
    case 'UNIT_UNKNOWN':
      return ['unit'];
    case 'ENDPOINT_NOT_FOUND':
      return ['endpoint'];
    case 'THEME_REFUSED':
      return ['values'];
    case 'PROJECTION_NOT_NAMED':
    case 'PROJECTION_UNKNOWN':
      return ['projection'];
    default:
      return [];
  }
}

function adjusted({
  refused,
}: OperationRefusal & { readonly code: 'NOT_ADJUSTED' }): readonly Argument[] {
  switch (refused) {
    case 'ACCOUNT_NOT_FOUND':
      return ['account'];
    case 'USER_NOT_FOUND':
      return ['user'];
    case 'AMOUNT_TOO_LARGE':
    case 'REDEMPTION_NOT_POSSIBLE':
      return ['amount'];
    default:
      return [];
  }
}

import type { ExportOrder } from '../export-order.js';
import { balanceRows } from './balance-rows.js';
import type { ExportedRows, ExportedTenant } from './exported-rows.js';
import { referralRows } from './referral-rows.js';
import { rewardRows } from './reward-rows.js';
import { userRows } from './user-rows.js';

export function rowsOfType(
  { type, dates = 'EPOCH_MS' }: Pick<ExportOrder, 'type' | 'dates'>,
  tenant: ExportedTenant,
): ExportedRows {
  switch (type) {
    case 'USER':
      return userRows(tenant, dates);
    case 'REFERRAL':
    case 'USER_REFERRAL':
      return referralRows(dates);
    case 'REWARD_BALANCE':
    case 'USER_REWARD_BALANCE':
      return balanceRows(type);
    case 'REWARD':
      return rewardRows(dates, tenant.now);
  }
}

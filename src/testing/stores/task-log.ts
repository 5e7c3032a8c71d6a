import type { TaskLog } from '../../core/tasks/log.ts'
import type { StoreTest } from './store-test.ts'
import { appendingTests } from './task-log/appending.ts'
import { claimsTests } from './task-log/claims.ts'
import { leasesTests } from './task-log/leases.ts'
import { listingTests } from './task-log/listing.ts'
import { readingTests } from './task-log/reading.ts'
import { retentionTests } from './task-log/retention.ts'
import { revisionsTests } from './task-log/revisions.ts'

/** The behaviour of every task log. */
export const taskLogTests: readonly StoreTest<TaskLog>[] = [
  ...appendingTests,
  ...claimsTests,
  ...readingTests,
  ...revisionsTests,
  ...listingTests,
  ...leasesTests,
  ...retentionTests,
]

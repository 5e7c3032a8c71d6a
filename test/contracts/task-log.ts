import { describe } from 'vitest'
import { appendingContract } from './task-log/appending.ts'
import { claimsContract } from './task-log/claims.ts'
import type { OpenLog, SharedStorage } from './task-log/fixtures.ts'
import { leasesContract } from './task-log/leases.ts'
import { listingContract } from './task-log/listing.ts'
import { modelContract, sharedModelContract } from './task-log/model.ts'
import { operatorContract } from './task-log/operator.ts'
import { readingContract } from './task-log/reading.ts'
import { retentionContract } from './task-log/retention.ts'
import { revisionsContract } from './task-log/revisions.ts'
import { sharingContract } from './task-log/sharing.ts'

/** The number of random sequences of a durable log, each on new storage. A log without storage affords more. */
const durableModelRuns = 40

/** The behaviour of every task log. */
export function taskLogContract(open: OpenLog, { modelRuns = durableModelRuns } = {}): void {
  describe('appending', () => appendingContract(open))
  describe('claims', () => claimsContract(open))
  describe('reading', () => readingContract(open))
  describe('revisions', () => revisionsContract(open))
  describe('listing', () => listingContract(open))
  describe('operators', () => operatorContract(open))
  describe('leases', () => leasesContract(open))
  describe('retention', () => retentionContract(open))
  describe('model', () => modelContract(open, modelRuns))
}

/** The further behaviour of a durable log that several processes share. */
export function sharedLogContract(createStorage: () => Promise<SharedStorage>): void {
  describe('sharing', () => sharingContract(createStorage))
  describe('model', () => sharedModelContract(createStorage, durableModelRuns))
}

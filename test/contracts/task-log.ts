import { describe } from 'vitest'
import { appendingContract } from './task-log/appending.ts'
import { claimsContract } from './task-log/claims.ts'
import type { OpenLog, SharedStorage } from './task-log/fixtures.ts'
import { leasesContract } from './task-log/leases.ts'
import { listingContract } from './task-log/listing.ts'
import { modelContract, sharedModelContract } from './task-log/model.ts'
import { readingContract } from './task-log/reading.ts'
import { retentionContract } from './task-log/retention.ts'
import { sharingContract } from './task-log/sharing.ts'

/** What every task log promises. */
export function taskLogContract(open: OpenLog): void {
  describe('appending', () => appendingContract(open))
  describe('claims', () => claimsContract(open))
  describe('reading', () => readingContract(open))
  describe('listing', () => listingContract(open))
  describe('leases', () => leasesContract(open))
  describe('retention', () => retentionContract(open))
  describe('as a whole', () => modelContract(open))
}

/** What a log promises beyond that if its tasks outlive the process and several processes share them. */
export function sharedLogContract(createStorage: () => Promise<SharedStorage>): void {
  describe('sharing', () => sharingContract(createStorage))
  describe('as a whole', () => sharedModelContract(createStorage))
}

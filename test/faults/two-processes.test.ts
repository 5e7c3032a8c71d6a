import { describe, onTestFinished } from 'vitest'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import { type OpenStorage, twoProcessesContract } from './two-processes.ts'

const openPostgres: OpenStorage = async () => {
  const database = await takeDatabase()
  onTestFinished(() => database.release())
  return { postgres: { url: database.url } }
}

describe('two processes on one file', () => twoProcessesContract(async () => ({})))
describe('two processes on one PostgreSQL', () => twoProcessesContract(openPostgres))

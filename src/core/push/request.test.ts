import { expect, it } from 'vitest'
import { pushHeaders } from './request.ts'

it('the header names are in the form that HTTP libraries report', () => {
  for (const name of Object.values(pushHeaders)) {
    expect([...new Headers({ [name]: 'value' }).keys()]).toEqual([name])
  }
})

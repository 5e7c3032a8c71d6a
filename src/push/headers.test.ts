import { expect, it } from 'vitest'
import { pushHeaders } from './request.ts'

it('the names are such as every HTTP library gives them back', () => {
  for (const name of Object.values(pushHeaders)) {
    expect([...new Headers({ [name]: 'value' }).keys()]).toEqual([name])
  }
})

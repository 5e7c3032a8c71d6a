import { describe, expect, it } from 'vitest'
import { withEnvironment } from './environment.ts'

describe('withEnvironment', () => {
  it('variables set what the options leave open, and empty ones count as not set', () => {
    const environment = {
      PORT: '8080',
      HOST: '0.0.0.0',
      PARLEY_DIRECTORY: '/data',
      PARLEY_PUBLIC_URL: 'https://a.example',
      PARLEY_DATABASE_URL: '',
    }
    expect(withEnvironment({}, environment)).toEqual({
      options: { port: 8080, host: '0.0.0.0', directory: '/data', publicUrl: 'https://a.example' },
      databaseUrl: undefined,
    })
    expect(
      withEnvironment({ port: 0, host: '::1', directory: 'x', publicUrl: 'https://b.example' }, environment),
    ).toEqual({
      options: { port: 0, host: '::1', directory: 'x', publicUrl: 'https://b.example' },
      databaseUrl: undefined,
    })
  })

  it('a database of the environment is used unless the program chooses the store', () => {
    const environment = { PARLEY_DATABASE_URL: 'postgres://user:secret@db.example/parley' }
    expect(withEnvironment({}, environment).databaseUrl).toBe(environment.PARLEY_DATABASE_URL)
    expect(withEnvironment({ directory: 'x' }, environment).databaseUrl).toBeUndefined()
  })

  it.each([
    ['PORT', 'abc', 'The environment variable PORT: expected an integer from 0 to 65535, got "abc".'],
    ['PORT', '70000', 'The environment variable PORT: expected an integer from 0 to 65535, got 70000.'],
    ['PORT', '80.5', 'The environment variable PORT: expected an integer from 0 to 65535, got "80.5".'],
    [
      'PARLEY_PUBLIC_URL',
      'agents.example.com',
      'The environment variable PARLEY_PUBLIC_URL: expected an absolute http',
    ],
    [
      'PARLEY_PUBLIC_URL',
      'https://user:hunter2@agents.example.com',
      'The environment variable PARLEY_PUBLIC_URL: expected a URL without a user name and a password',
    ],
    [
      'PARLEY_DATABASE_URL',
      'mysql://u:hunter2@db/x',
      'The environment variable PARLEY_DATABASE_URL: expected a URL such as',
    ],
  ])('%s=%s is refused by the name of the variable', (name, value, text) => {
    expect(() => withEnvironment({}, { [name]: value })).toThrow(text)
    expect(() => withEnvironment({}, { [name]: value })).not.toThrow('hunter2')
  })
})

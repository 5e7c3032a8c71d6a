import { describe, expect, it } from 'vitest'
import { fullCard } from '../../../../test/contracts/dialects/full-objects.ts'
import { encodeCardAs } from '../../dialects/served-card.ts'
import { pythonJson, specifiedForm } from './canonical-card.ts'

const { signatures: _, ...card } = encodeCardAs('1.0', fullCard('1.0'))

describe('specifiedForm', () => {
  it('the form has empty required members, and no other empty ones', () => {
    const { text } = specifiedForm({
      name: 'A',
      supportedInterfaces: [{ url: 'u', protocolBinding: 'b', protocolVersion: '1.0', tenant: '' }],
      capabilities: { streaming: false, extensions: [] },
      iconUrl: '',
      securitySchemes: {},
      provider: null,
      unknown: 1,
      signatures: [{ protected: 'x', signature: 'y' }],
    })
    expect(text).toBe(
      '{"capabilities":{"streaming":false},"defaultInputModes":[],"defaultOutputModes":[],"description":"",' +
        '"iconUrl":"","name":"A","skills":[],' +
        '"supportedInterfaces":[{"protocolBinding":"b","protocolVersion":"1.0","url":"u"}],"version":""}',
    )
  })

  it('the text follows RFC 8785', () => {
    const params = {
      numbers: [JSON.parse('333333333.33333329'), 1e30, 4.5, 2e-3, 1e-27],
      '\u20ac': '\u20ac$\u000f\nA\'B"\\"/',
      '\r': 1,
    }
    const { text } = specifiedForm({ ...card, capabilities: { extensions: [{ uri: 'u', params }] } })
    expect(text).toContain(
      '{"\\r":1,"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"€":"€$\\u000f\\nA\'B\\"\\\\\\"/"}',
    )
  })

  it('a card with a member of another type has no form', () => {
    expect(() => specifiedForm({ ...card, skills: [{ id: 1 }] })).toThrow('skills[0].id must be text')
  })
})

describe('pythonJson', () => {
  it('a value is written as Python writes it', () => {
    const value = {
      b: 1,
      a: [0.0001, 0.00001, 1e16, 123456789012345680, 1.5, -0, 1e21, 1e-7, 100, 2.5e-10, true, null],
      '\u{1f600}': {},
      '\uffff': [],
      é: 'ü\u{1f600}\u007f\n\u000f"/\\',
    }
    // Output of json.dumps(value, separators=(',', ':'), sort_keys=True) of Python 3, with all numbers as floats.
    expect(pythonJson(value)).toBe(
      '{"a":[0.0001,1e-05,1e+16,1.2345678901234568e+17,1.5,-0.0,1e+21,1e-07,100.0,2.5e-10,true,null],"b":1.0,' +
        '"\\u00e9":"\\u00fc\\ud83d\\ude00\\u007f\\n\\u000f\\"/\\\\","\\uffff":[],"\\ud83d\\ude00":{}}',
    )
  })
})

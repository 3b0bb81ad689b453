package contract

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

var vkeyShape = shape(`^([!-*,-~]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$`)

// badVerifier says what is wrong with a verifier key of signed notes: a name,
// the first four bytes of a hash over name and key, and 33 bytes of base64, the
// first being 1 for Ed25519.
func badVerifier(s string) string {
	parts := vkeyShape().FindStringSubmatch(s)
	if parts == nil {
		return "want a verifier key as keygen prints it, name+8 hexadecimal digits+base64, got " + shown(s)
	}
	key, err := base64.StdEncoding.DecodeString(parts[3])
	if err != nil {
		return "the base64 of the key cannot be read: " + err.Error()
	}
	if key[0] != 1 {
		return fmt.Sprintf("the key is of algorithm %d, want 1, Ed25519", key[0])
	}
	sum := sha256.Sum256(append([]byte(parts[1]+"\n"), key...))
	if want := hex.EncodeToString(sum[:4]); parts[2] != want {
		return "the hash of this name and key is " + want + ", not " + parts[2] + ": a character was changed"
	}
	return ""
}

const bech32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// badRecipient says what is wrong with the public key of an age identity:
// Bech32 of 32 bytes behind age1, in lower case.
func badRecipient(s string) string {
	const length, checksum = 62, 6
	data, ok := strings.CutPrefix(s, "age1")
	if !ok || len(s) != length {
		return fmt.Sprintf("want an age recipient, age1 and %d more characters, got %s", length-len("age1"), shown(s))
	}
	sum := bech32Step(1, 'a'>>5, 'g'>>5, 'e'>>5, 0, 'a'&31, 'g'&31, 'e'&31)
	for i, c := range data {
		value := strings.IndexRune(bech32, c)
		if value < 0 {
			return fmt.Sprintf("an age recipient holds no %q", c)
		}
		// 52 digits of 5 bits hold 32 bytes and 4 bits, which are zero.
		if i == len(data)-checksum-1 && value&15 != 0 {
			return "the age recipient does not hold 32 bytes"
		}
		sum = bech32Step(sum, value)
	}
	if sum != 1 {
		return "the checksum of the age recipient is wrong: a character was changed"
	}
	return ""
}

// bech32Step takes values of 5 bits into the checksum of BIP 173.
func bech32Step(sum int, values ...int) int {
	generator := [5]int{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3}
	for _, v := range values {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ v
		for i, g := range generator {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	return sum
}

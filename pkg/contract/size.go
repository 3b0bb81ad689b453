package contract

import (
	"fmt"
	"strconv"
)

// ParseSize reads a size as a draft writes it: a whole number of KiB, MiB, GiB
// or TiB, or plain bytes.
func ParseSize(text string) (int64, error) {
	digits, unit := text, int64(1)
	if parts := sizeShape().FindStringSubmatch(text); parts != nil {
		digits = parts[1]
		unit = map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": tebibyte}[parts[2]]
	}
	count, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("want a size such as 512MiB, got %s", shown(text))
	}
	if int64(count) > maxQuantity/unit {
		return 0, fmt.Errorf("the size %s is too large", shown(text))
	}
	return int64(count) * unit, nil
}

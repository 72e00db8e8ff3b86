-- Row accounting per scope: what was measured, and what was set aside for which reason.

CREATE TABLE counts AS
WITH scoped_grid AS (
    SELECT 'all' AS scope, 'all' AS level, * FROM grid
    UNION ALL SELECT 'family', family, * FROM grid
    UNION ALL SELECT 'corruption', corruption, * FROM grid
    UNION ALL SELECT 'severity', severity::VARCHAR, * FROM grid
),
places AS (
    SELECT scope, level,
           count(*) AS places,
           count(DISTINCT item_id) FILTER (aside IS NULL) AS items,
           count(DISTINCT image_id) FILTER (aside IS NULL) AS images,
           count(*) FILTER (aside IS NULL) AS cells,
           count(DISTINCT item_id) - items AS set_aside, -- items without a single measured cell
           count(*) FILTER (aside IS NOT NULL) AS cells_set_aside,
           count(*) FILTER (aside = 'no_gold') AS set_aside_no_gold,
           count(*) FILTER (aside = 'clean_missing') AS set_aside_clean_missing,
           count(*) FILTER (aside = 'clean_not_scored') AS set_aside_clean_not_scored,
           count(*) FILTER (aside = 'missing') AS set_aside_missing,
           count(*) FILTER (aside = 'not_scored') AS set_aside_not_scored
    FROM scoped_grid
    GROUP BY scope, level
),
scoped_paths AS (
    SELECT 'all' AS scope, 'all' AS level, whole FROM paths
    UNION ALL SELECT 'family', family, whole FROM paths
    UNION ALL SELECT 'corruption', corruption, whole FROM paths
),
incomplete AS (
    SELECT scope, level, count(*) FILTER (NOT whole) AS trajectories_incomplete
    FROM scoped_paths GROUP BY scope, level
)
SELECT places.*, trajectories_incomplete
FROM places LEFT JOIN incomplete USING (scope, level)
ORDER BY scope, level;
